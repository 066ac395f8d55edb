import { expect, test } from "vitest";
import { diffLines, linesOf } from "./lines";
import { changedWords, wordMarks } from "./words";

const marked = (text: string, spans: readonly (readonly [number, number])[]) => spans.map(([start, end]) => text.slice(start, end));

test.each([
  ["const a = 1;", "const a = 2;", ["1"], ["2"]],
  ["call(first, second)", "call(first, other, second)", [], ["other, "]],
  ["  return 1", "    return 1", ["  "], ["    "]],
  ["größe: 1", "größe: 10", ["1"], ["10"]],
])("the words that changed: %s → %s", (before, after, went, came) => {
  const words = changedWords(before, after);
  expect(marked(before, words?.before ?? [])).toEqual(went);
  expect(marked(after, words?.after ?? [])).toEqual(came);
});

test("a line that was replaced has no marks, nor has one that nobody reads", () => {
  expect(changedWords("let it be", "#include <stdio.h>")).toBeUndefined();
  expect(changedWords(`${"x ".repeat(2_000)}a`, `${"x ".repeat(2_000)}b`)).toBeUndefined();
});

test("lines are compared with those that came in their place, if they are alike", () => {
  const marks = (before: string, after: string) => {
    const changes = diffLines(linesOf(before), linesOf(after));
    return changes.filter((change) => wordMarks(changes)(change) !== undefined).length;
  };
  expect(marks("a = 1\nb = 2\n", "a = 3\nb = 4\n")).toBe(4);
  expect(marks("a = 1\n", "a = 3\nb = 4\n")).toBe(2);
  expect(marks("a = 1\n", "something else\na = 1;\n")).toBe(0);
});
