import { describe, expect, test } from "vitest";
import { isLate, pageOf, takesMessage, targetOf } from "./changesets";

describe("changes of which some may be missing", () => {
  test.each([
    [undefined, false],
    [{}, false],
    [{ innkeeper: {} }, false],
    [{ innkeeper: { stateBefore: "late" } }, true],
  ])("are told by the host: %j", (_meta, late) => {
    expect(isLate([{ id: "a", edit: {} }, { id: "b", edit: {}, ...(_meta ? { _meta } : {}) }])).toBe(late);
  });
});

describe("what an operation is about", () => {
  const range = (start: number, end: number) => ({ start: { line: start, character: 0 }, end: { line: end, character: 0 } });
  test.each([
    ["a file", undefined, { kind: "resource", resource: "file:///a" }],
    ["new lines", { before: { start: 2, end: 3 }, after: { start: 4, end: 6 } }, { kind: "range", resource: "file:///a", range: range(4, 6) }],
    ["lines that are gone", { before: { start: 2, end: 3 }, after: { start: 4, end: 4 } }, { kind: "range", resource: "file:///a", side: "before", range: range(2, 3) }],
  ])("%s", (_name, hunk, target) => {
    expect(targetOf("file:///a", hunk)).toEqual(target);
  });
});

describe("operations", () => {
  test.each([
    ["commit", "Fix it", true],
    ["create-pr", "Fix it", true],
    ["commit", undefined, false],
    ["push", "Sends it", false],
  ])("%s with the description %j takes a message: %j", (id, description, takes) => {
    expect(takesMessage({ id, label: id, scopes: ["changeset"], status: "idle", ...(description ? { description } : {}) })).toBe(takes);
  });

  test.each([
    ["https://github.com/o/r/pull/1", "https://github.com/o/r/pull/1"],
    ["javascript:alert(1)", undefined],
    ["file:///etc/passwd", undefined],
  ])("lead to %j as %j", (uri, page) => {
    expect(pageOf({ followUp: { content: { uri }, external: true } })).toBe(page);
  });
});
