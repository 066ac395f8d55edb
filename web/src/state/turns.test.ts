import { describe, expect, test } from "vitest";
import type { ToolCall } from "../protocol/types";
import type { UiMessage } from "./appState";
import { foldable, rowsOf as rowsWith, UNFOLDED } from "./turns";

const rowsOf = (all: readonly UiMessage[], turns: ReadonlySet<string>) => rowsWith(all, { ...UNFOLDED, turns });

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

describe("neighbouring tool calls are one line", () => {
  const call = (id: string, meta: object = {}, outcome: Partial<ToolCall> = {}): UiMessage => {
    const toolCall = { toolCallId: id, toolName: id, displayName: id, status: "completed", success: true, _meta: meta, ...outcome } as ToolCall;
    const phase = toolCall.status === "completed" ? (toolCall.success ? "done" : "error") : toolCall.status === "running" ? "running" : "confirm";
    return { id, kind: "tool", text: id, turnId: "t", toolCall, toolStep: { toolName: id, toolArgs: "", phase } };
  };
  const read = (id: string) => call(id, { toolKind: "read" });
  const thought = entry("thought", "t", "thinking");
  const shown = (turn: UiMessage[], groups = new Map<string, boolean>(), state: "complete" | "running" = "complete") =>
    rowsWith([begun("t", state), ...turn], { turns: new Set(), groups }).slice(1).map(({ key }) => key);

  test("folded when they are done, with what they did", () => {
    const rows = rowsWith([begun("t"), read("a"), thought, read("b"), call("c", { toolKind: "terminal" }), entry("answer", "t")], UNFOLDED);
    expect(rows.map(({ key }) => key)).toEqual(["t", "a/group", "answer"]);
    expect(rows[1]?.group?.calls.map(({ toolCallId }) => toolCallId)).toEqual(["a", "b", "c"]);
  });

  test("open while they run, and as the reader wants", () => {
    expect(shown([read("a"), read("b")], undefined, "running")).toEqual(["a/group", "a", "b"]);
    expect(shown([read("a"), read("b"), entry("answer", "t")], undefined, "running")).toEqual(["a/group", "answer"]);
    expect(shown([read("a"), read("b")], new Map([["a/group", true]]))).toEqual(["a/group", "a", "b"]);
    expect(shown([read("a"), read("b")], new Map([["a/group", false]]), "running")).toEqual(["a/group"]);
  });

  test("failures, what waits, edits and sub-agents stay in sight", () => {
    const failed = call("failed", {}, { success: false });
    const exited = call("exited", {}, { content: [{ type: "terminal", resource: "x:/t", title: "", result: { exitCode: 1 } }] } as Partial<ToolCall>);
    const waiting = call("waiting", {}, { status: "pending-confirmation" } as Partial<ToolCall>);
    const edited = call("edited", { kind: "edit" });
    const helper = call("helper", { toolKind: "subagent" });
    expect(shown([read("a"), failed, exited, edited, helper, read("b"), waiting])).toEqual(["a/group", "failed", "exited", "edited", "helper", "waiting"]);
  });

  test("one call alone, and thoughts around calls, are not a group", () => {
    expect(shown([read("a")])).toEqual(["a"]);
    expect(shown([thought, read("a"), read("b"), entry("after", "t", "thinking")])).toEqual(["thought", "a/group", "after"]);
  });

  test("the footer of a turn that ends in a group stands below it", () => {
    const rows = rowsWith([begun("t"), read("a"), read("b")], UNFOLDED);
    expect(rows.at(-1)?.turnStart?.id).toBe("t");
  });
});

test("all that was said in a turn is its answer", () => {
  const rows = rowsOf([begun("a"), entry("a1", "a"), entry("a2", "a", "tool"), entry("a3", "a")], new Set());
  expect(rows.at(-1)?.answer).toBe("said a1\n\nsaid a3");
});

test("notices do not stand between what waits and the end", () => {
  const waiting: UiMessage = { ...entry("w", "c", "tool"), toolStep: { toolName: "w", toolArgs: "", phase: "confirm" } };
  const rows = rowsOf([begun("c", "running"), waiting, entry("n1", "c", "system"), entry("n2", "c", "system")], new Set());
  expect(rows.map(({ key }) => key)).toEqual(["c", "n1", "n2", "w"]);
});
