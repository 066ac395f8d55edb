import { expect, test } from "vitest";
import type { ToolCall } from "../protocol/types";
import { hasFailed, kindOf, summaryOf } from "./toolKinds";

let next = 0;
const call = (meta: object, more: object = {}): ToolCall => ({ toolCallId: `c${next++}`, toolName: "x", displayName: "x", status: "completed", success: true, _meta: meta, ...more }) as ToolCall;
const read = (path?: string) => call({ toolKind: "read", ...(path ? { locations: [{ path }] } : {}) });
const terminal = (exitCode?: number) => ({ content: [{ type: "terminal", resource: "x:/t", title: "", result: { exitCode } }] });

test.each([
  ["read", call({ toolKind: "read", kind: "other" })],
  ["command", call({ toolKind: "terminal" })],
  ["command", call({}, terminal(0))],
  ["search", call({ kind: "search" })],
  ["edit", call({ kind: "delete" })],
  ["edit", call({ toolKind: "read" }, { content: [{ type: "fileEdit" }] })],
  ["subagent", call({ kind: "think" }, { content: [{ type: "subagent", resource: "x:/c", title: "" }] })],
  ["todos", call({ kind: "think" }, { content: [{ type: "text", text: "- [ ] a" }] })],
  ["other", call({ toolName: "read_file" })],
  ["other", call({ toolKind: "constructor", kind: 7 })],
])("the kind of a call is what the state says: %s", (kind, made) => expect(kindOf(made)).toBe(kind));

test.each([
  ["Explored 14 files · ran 3 commands", [...Array.from({ length: 14 }, () => read()), call({ toolKind: "terminal" }), call({ toolKind: "terminal" }), call({}, terminal(0))]],
  ["Explored 1 file · searched twice", [read("/a"), read("/a"), call({ kind: "search" }), call({ kind: "search" })]],
  ["Edited 2 files · asked 1 sub-agent · used 1 tool", [call({ kind: "edit" }), call({ kind: "edit" }), call({ toolKind: "subagent" }), call({})]],
  ["Fetched 1 page", [call({ kind: "fetch" })]],
  ["", []],
])("what calls come to: %s", (summary, calls) => expect(summaryOf(calls)).toBe(summary));

test("a call has failed if it says so, or its command does", () => {
  expect(hasFailed(call({}, { success: false }))).toBe(true);
  expect(hasFailed(call({}, terminal(101)))).toBe(true);
  expect(hasFailed(call({}, terminal(0)))).toBe(false);
  expect(hasFailed(call({}, { status: "running" }))).toBe(false);
});
