import { expect, test } from "vitest";
import type { TerminalState } from "../protocol/types";
import type { ChannelState } from "./reducers";
import { bounded, textOf } from "./scrollback";

function terminal(...values: string[]): ChannelState & { kind: "terminal" } {
  const content = values.map((value) => ({ type: "unclassified" as const, value }));
  const state: TerminalState = { title: "sh", content, lifecycle: { status: "running" }, claim: { kind: "client", clientId: "c" } };
  return { kind: "terminal", state };
}

const shown = (channel: ChannelState) => (channel.kind === "terminal" ? channel.state.content.map(textOf).join("") : "");

test("what is not too much stays as it is", () => {
  const channel = terminal("a\n", "b\n");
  expect(bounded(channel)).toBe(channel);
});

test("what is too much loses its beginning, at a line", () => {
  const all = `first\n${"0123456789\n".repeat(200_000)}last\n`;
  const kept = shown(bounded(terminal(all)));
  expect(kept.length).toBeLessThanOrEqual(1_000_000);
  expect(kept.length).toBeGreaterThan(900_000);
  expect(kept.startsWith("0123456789\n")).toBe(true);
  expect(all.endsWith(kept)).toBe(true);
});

test("parts that no longer fit are dropped whole", () => {
  const kept = bounded(terminal("old\n".repeat(400_000), "new\n".repeat(250_000)));
  expect(kept.kind === "terminal" && kept.state.content.length).toBe(1);
  expect(shown(kept)).toBe("new\n".repeat(250_000));
});
