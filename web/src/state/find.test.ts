import { expect, test } from "vitest";
import type { UiMessage } from "./appState";
import { findIn, MOST_HITS, startAt } from "./find";

const entry = (id: string, kind: UiMessage["kind"], text: string, more: Partial<UiMessage> = {}): UiMessage => ({ id, kind, text, turnId: "t", ...more });
const step = { toolName: "bash", toolArgs: '{"command":"make"}', phase: "done" as const, result: "All GREEN" };
const messages = [entry("a", "user", "Make it green"), entry("b", "assistant", "It is."), entry("c", "tool", "Ran it", { toolStep: step }), entry("d", "thinking", "is green enough?")];

test("words are found in what was said and in what tools printed, whatever their case", () => {
  expect(findIn(messages, " green ").map(({ id }) => id)).toEqual(["a", "c", "d"]);
  expect(findIn(messages, "MAKE").map(({ id }) => id)).toEqual(["a", "c"]);
  expect(findIn(messages, "")).toEqual([]);
  expect(findIn(messages, "[a-z]")).toEqual([]);
});

test("what may be closed says so", () => {
  expect(findIn(messages, "green").map(({ isInside }) => isInside)).toEqual([true, true, true]);
  expect(findIn(messages, "It is").map(({ isInside }) => isInside)).toEqual([false]);
});

test("nobody steps through more hits than there can be", () => {
  const many = Array.from({ length: MOST_HITS + 5 }, (_, at) => entry(`${at}`, "assistant", "x"));
  expect(findIn(many, "x")).toHaveLength(MOST_HITS);
});

test("looking begins where it was, or at the end", () => {
  const hits = findIn(messages, "green");
  expect(startAt(hits, "c")).toBe(1);
  expect(startAt(hits, "gone")).toBe(2);
});
