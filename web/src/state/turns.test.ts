import { expect, test } from "vitest";
import type { UiMessage } from "./appState";
import { foldable, rowsOf } from "./turns";

const begun = (id: string, state: "complete" | "running" = "complete"): UiMessage => ({ id, kind: "user", text: id, turnId: id, turn: { state } });
const entry = (id: string, turnId: string, kind: UiMessage["kind"] = "assistant"): UiMessage => ({ id, kind, text: `said ${id}`, turnId });

const messages = [begun("a"), entry("a1", "a", "tool"), entry("a2", "a"), begun("b"), begun("c", "running"), entry("c1", "c")];

test("without folds there is a row for each entry, and the last one of a finished turn knows its beginning", () => {
  const rows = rowsOf(messages, new Set());
  expect(rows.map(({ message }) => message)).toEqual(messages);
  expect(rows.map(({ turnStart }) => turnStart?.id)).toEqual([undefined, undefined, "a", "b", undefined, undefined]);
});

test("a folded turn is one row that says what was in it", () => {
  const [row, next] = rowsOf(messages, new Set(["a"]));
  expect(row?.folded).toEqual({ tools: 1, hasFailed: false, answer: "said a2" });
  expect(next?.message.id).toBe("b");
});

test("only finished turns with something in them can be folded", () => {
  expect(foldable(messages)).toEqual(["a"]);
  expect(rowsOf(messages, new Set(["b", "c"]))).toHaveLength(messages.length);
});

test("rows of turns that did not change are the same objects", () => {
  const before = rowsOf(messages, new Set());
  const after = rowsOf([...messages.slice(0, 5), entry("c1", "c"), entry("c2", "c")], new Set());
  expect(after[1]).toBe(before[1]);
  expect(after).toHaveLength(7);
});
