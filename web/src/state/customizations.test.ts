import { expect, test } from "vitest";
import type { ChildCustomization, Enablement, McpServerState, PluginCustomization } from "../protocol/types";
import { decided, deliveryOf, iconOf, isOn, serverControls } from "./customizations";

const plugin = (...enablement: Enablement[]): PluginCustomization => ({ type: "plugin", id: "p", uri: "file:///p", name: "p", enablement });

test("what nobody decided is on, and the nearest decision holds", () => {
  expect(isOn(plugin())).toBe(true);
  expect(isOn(plugin({ kind: "global", enabled: false }))).toBe(false);
  expect(isOn(plugin({ kind: "global", enabled: false }, { kind: "session", enabled: true }))).toBe(true);
  expect(isOn({ type: "skill", id: "s", uri: "file:///s", name: "s", enabled: false })).toBe(false);
});

test("a decision for the session leaves those of others alone", () => {
  const others: Enablement[] = [{ kind: "workspace", uri: "file:///w", enabled: true }, { kind: "global", enabled: false }];
  expect(decided(plugin({ kind: "session", enabled: true }, ...others), false)).toEqual([{ kind: "session", enabled: false }, ...others]);
});

test("an MCP server offers what makes sense as it is, and nothing begins that is off", () => {
  const asked = (state: McpServerState, isOff = false) =>
    serverControls({ type: "mcpServer", id: "m", uri: "file:///m", name: "m", state }, isOff).map(({ request }) => request);
  expect(asked({ kind: "stopped" })).toEqual(["Start"]);
  expect(asked({ kind: "stopped" }, true)).toEqual([]);
  expect(asked({ kind: "starting", blocking: true })).toEqual(["Background", "Stop"]);
  expect(asked({ kind: "starting" })).toEqual(["Stop"]);
  expect(asked({ kind: "ready" })).toEqual(["Start", "Stop"]);
  expect(asked({ kind: "authRequired" })).toEqual(["Stop"]);
  expect(asked({ kind: "error", error: { errorType: "ended", message: "it ended" } })).toEqual(["Start"]);
});

test("a picture is shown only if it comes with what it is of", () => {
  const icons = [{ src: "https://a.example/i.png" }, { src: "data:image/png;base64,AA==" }];
  const server = { type: "mcpServer", id: "s", uri: "x:s", name: "s", state: { kind: "ready" } } as const;
  expect(iconOf({ ...server, icons })).toBe("data:image/png;base64,AA==");
  expect(iconOf({ ...server, icons: icons.slice(0, 1) })).toBeUndefined();
  expect(iconOf(server)).toBeUndefined();
});

test("a customization says how it comes to the agent, and what an agent reads although it is off", () => {
  const words = (type: string, delivery: unknown, isOff = false) =>
    deliveryOf({ type, id: "c", uri: "file:///c", name: "c", _meta: { innkeeper: { delivery } } } as unknown as ChildCustomization, isOff, "Claude Code");
  expect(words("rule", "agent")).toBe("Claude Code reads this itself");
  expect(words("mcpServer", "agent", true)).toBe("Claude Code starts this itself, although it is off here");
  expect(words("hook", "agent")).toBe("Claude Code runs this itself");
  expect(words("skill", "host")).toBe("The host passes this to Claude Code");
  expect(words("mcpServer", "host")).toBe("Claude Code uses this through the host");
  expect(words("skill", "host", true)).toBeUndefined();
  expect(words("prompt", "use")).toBe("Claude Code gets this when you use it in a message");
  expect(words("rule", "none")).toBe("Claude Code does not get this");
  expect(words("hook", "none")).toBe("Claude Code does not run this");
  expect(words("rule", "by owl")).toBeUndefined();
  expect(deliveryOf(plugin(), false, "Claude Code")).toBeUndefined();
});
