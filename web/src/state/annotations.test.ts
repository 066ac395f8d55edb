import { expect, test } from "vitest";
import type { Annotation } from "../protocol/types";
import { byLine, openOnes, placeIn } from "./annotations";

const resource = "file:///a.txt";

function at(line: number, anchor?: { anchor: string; lines: string[] }): Annotation {
  const position = { line, character: 0 };
  return {
    id: `${line}`,
    origin: { session: "s:1" },
    resource,
    range: { start: position, end: position },
    resolved: false,
    entries: [{ id: "e", text: "Why?" }],
    ...(anchor && { _meta: { innkeeper: anchor } }),
  };
}

const found = (...lines: string[]) => ({ anchor: "found", lines });

test("a comment stands under its line, or the nearest that says the same", () => {
  expect(placeIn(at(1), ["a", "b"])).toBe(1);
  expect(placeIn(at(1, found("b")), ["a", "b", "b"])).toBe(1);
  expect(placeIn(at(0, found("b")), ["a", "x", "b", "b"])).toBe(2);
  expect(placeIn(at(9, found("b")), ["a", "b"])).toBe(1);
});

test("a comment whose line is not in the text stands nowhere in it", () => {
  expect(placeIn(at(5), ["a", "b"])).toBeUndefined();
  expect(placeIn(at(1, found("z")), ["a", "b"])).toBeUndefined();
  expect(placeIn(at(1, { anchor: "lost", lines: ["b"] }), ["a", "b"])).toBeUndefined();
});

test("the comments on other files are left out", () => {
  const other = { ...at(0), resource: "file:///b.txt" };
  expect([...byLine([at(0), other, at(1)], resource, ["a", "b"]).keys()]).toEqual([0, 1]);
});

test("resolved comments are not open", () => {
  expect(openOnes([at(0), { ...at(1), resolved: true }])).toHaveLength(1);
});
