import { describe, expect, test } from "vitest";
import type { ChangesetOperation, ChangesetState, ChatState } from "../protocol/types";
import { changesOfTurn, isLate, operationsOn, pageOf, takesMessage, targetOf } from "./changesets";

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

describe("what is offered", () => {
  const operation = (id: string, ...scopes: ChangesetOperation["scopes"]): ChangesetOperation => ({ id, label: id, scopes, status: "idle" });
  const operations = [operation("discard", "changeset", "resource"), operation("commit", "changeset"), operation("undo", "changeset")];
  const changes = (files: ChangesetState["files"]): ChangesetState => ({ status: "ready", files, operations });

  test("nothing is discarded or committed where nothing has changed, and what was done can be undone", () => {
    expect(operationsOn(changes([]), "changeset").map(({ id }) => id)).toEqual(["undo"]);
    expect(operationsOn({ ...changes([]), status: "computing" }, "changeset")).toHaveLength(3);
    expect(operationsOn(changes([{ id: "a", edit: {} }]), "changeset", true).map(({ id }) => id)).toEqual(["discard", "undo"]);
  });

  test("what is about all files and what is about one are called differently", () => {
    const some = changes([{ id: "a", edit: {} }]);
    expect(operationsOn(some, "changeset").map(({ label }) => label)).toEqual(["discard all", "commit", "undo"]);
    expect(operationsOn(some, "resource").map(({ label }) => label)).toEqual(["discard this file"]);
  });
});

test("any turn has its changes", () => {
  const catalogue = [
    { label: "Between", uriTemplate: "x:/{originalTurnId}/{turnId}", changeKind: "compare" },
    { label: "Turn", uriTemplate: "x:/turn/{turnId}", changeKind: "turn" },
  ];
  const chat = { changesets: catalogue } as ChatState;
  expect(changesOfTurn(undefined, chat, "a/b")?.uri).toBe("x:/turn/a%2Fb");
  expect(changesOfTurn(undefined, { ...chat, changesets: [] }, "a")).toBeUndefined();
});
