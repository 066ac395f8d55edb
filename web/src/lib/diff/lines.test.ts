import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { diffLines, linesOf } from "./lines";
import { counts, split, unified } from "./rows";

const texts = fc.array(fc.constantFrom("a", "b", "c", "", "x y"), { maxLength: 30 });

test("a difference holds both texts, whole and in order", () => {
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      const changes = diffLines(before, after);
      expect(changes.filter(({ kind }) => kind !== "added").map(({ text }) => text)).toEqual(before);
      expect(changes.filter(({ kind }) => kind !== "removed").map(({ text }) => text)).toEqual(after);
      changes.filter(({ kind }) => kind !== "added").forEach((change, index) => expect(change.before).toBe(index));
      changes.filter(({ kind }) => kind !== "removed").forEach((change, index) => expect(change.after).toBe(index));
    }),
    { numRuns: 500 },
  );
});

test("equal texts have no difference, and one changed line is one change", () => {
  expect(counts(diffLines(linesOf("a\nb\nc\n"), linesOf("a\nb\nc\n")))).toEqual({ added: 0, removed: 0 });
  expect(counts(diffLines(linesOf("a\nb\nc\n"), linesOf("a\nB\nc\n")))).toEqual({ added: 1, removed: 1 });
});

test("of many changes between lines that occur often, no more is shown than has changed", () => {
  const repeated = Array.from({ length: 5_000 }, (_, index) => `line ${index % 50}`);
  const some = repeated.map((line, index) => (index % 10 === 3 ? `${line}, changed` : line));
  expect(counts(diffLines(repeated, some))).toEqual({ added: 500, removed: 500 });
  const braces = Array.from({ length: 2_000 }, (_, index) => (index % 5 ? "}" : "{"));
  const fewer = braces.filter((_, index) => index % 5);
  expect(counts(diffLines(braces, fewer))).toEqual({ added: 0, removed: 400 });
});

describe("rows", () => {
  const before = Array.from({ length: 100 }, (_, index) => `line ${index}`);
  const after = before.map((line, index) => (index === 50 ? "changed" : line));
  const rows = unified(diffLines(before, after));

  test("what did not change far from a change is left out", () => {
    expect(rows[0]).toEqual({ kind: "gap", count: 47, at: 0 });
    expect(rows).toHaveLength(1 + 3 + 2 + 3 + 1);
  });

  test("side by side, what went stands beside what came", () => {
    const pair = split(rows).find((row) => row.kind === "pair" && row.left?.kind === "removed");
    expect(pair).toMatchObject({ left: { text: "line 50" }, right: { text: "changed" } });
  });
});
