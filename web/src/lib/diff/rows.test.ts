import { describe, expect, test } from "vitest";
import { diffLines, linesOf } from "./lines";
import { split, unified } from "./rows";
import type { Hunk, Row } from "./rows";

const rowsOf = (before: string, after: string) => unified(diffLines(linesOf(before), linesOf(after)));
const hunksOf = (rows: readonly { kind: string; hunk?: Hunk }[]) => rows.flatMap(({ hunk }) => (hunk ? [[hunk.before.start, hunk.before.end, hunk.after.start, hunk.after.end]] : []));

describe("neighbouring lines that differ", () => {
  test.each<[string, string, string, number[][]]>([
    ["one changed line", "a\nb\nc\n", "a\nB\nc\n", [[1, 2, 1, 2]]],
    ["lines that came", "a\n", "a\nb\nc\n", [[1, 1, 1, 3]]],
    ["lines that went, at the beginning", "a\nb\nc\n", "c\n", [[0, 2, 0, 0]]],
    ["two places", "a\nb\nc\nd\n", "A\nb\nc\n", [[0, 1, 0, 1], [3, 4, 3, 3]]],
    ["a new file", "", "a\n", [[0, 0, 0, 1]]],
    ["nothing", "a\n", "a\n", []],
  ])("%s: the first row of each place says which", (_name, before, after, expected) => {
    const rows: Row[] = rowsOf(before, after);
    expect(hunksOf(rows as { kind: string; hunk?: Hunk }[])).toEqual(expected);
    expect(hunksOf(split(rows) as { kind: string; hunk?: Hunk }[])).toEqual(expected);
  });
});

test("lines that did not change are a gap until it is opened", () => {
  const lines = Array.from({ length: 20 }, (_, at) => `line ${at}`);
  const changes = diffLines(lines, ["first", ...lines.slice(1, -1), "last"]);
  const rows = unified(changes);
  const gap = rows.find((row) => row.kind === "gap");
  expect(gap).toEqual({ kind: "gap", count: 12, at: 5 });
  expect(unified(changes, new Set([5]))).toHaveLength(changes.length);
  expect(unified(changes, new Set([4]))).toHaveLength(rows.length);
  expect(unified(diffLines(lines, lines))).toEqual([]);
});
