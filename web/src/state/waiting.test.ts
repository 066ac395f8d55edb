import { expect, test } from "vitest";
import type { ChatState, PendingCall } from "../protocol/types";
import { alike, answerEditor, isAnswerIn } from "./waiting";
import type { Waiting } from "./waiting";

const options = [{ id: "once", label: "Allow once", kind: "approve" as const, group: 0 }];

function approval(chat: string, call: Partial<PendingCall> = {}): Waiting {
  const pending = { toolCallId: "c", toolName: "bash", toolInput: "cargo test", status: "pending-confirmation", options, ...call } as PendingCall;
  return { id: `${chat}#c`, chat, title: "Run", isElsewhere: true, kind: "approval", turnId: "t", call: pending };
}

const chatsOf = (items: Waiting[]) => alike(items).map((group) => group.map(({ chat }) => chat));

test("requests for the same command are alike, whoever asks", () => {
  expect(chatsOf([approval("a"), approval("b", { toolInput: "rm -rf /" }), approval("c")])).toEqual([["a", "c"]]);
});

test.each<[string, Partial<PendingCall>]>([
  ["another tool", { toolName: "sh" }],
  ["another input", { toolInput: "cargo test --all" }],
  ["another answer", { options: [{ id: "always", label: "Always", kind: "approve", group: 1 }] }],
  ["no input at all", { toolInput: undefined }],
  ["changes to files", { edits: { items: [{}] } } as Partial<PendingCall>],
])("a request with %s is like no other", (_, call) => {
  expect(chatsOf([approval("a"), approval("b", call)])).toEqual([]);
});

test("without an input nobody knows whether it is the same", () => {
  expect(chatsOf([approval("a", { toolInput: undefined }), approval("b", { toolInput: undefined })])).toEqual([]);
});

test.each([
  ["what was written", "the stable", true],
  ["something else", "the barn", false],
])("an answer that another page gave: %s", (_, text, expected) => {
  const answers = { roof: { state: "submitted" as const, value: { kind: "text" as const, value: "the stable" } } };
  const part = { kind: "inputRequest" as const, request: { id: "q", answers }, response: "accept" as const };
  const chat = { resource: "ahp-chat:/a", turns: [], activeTurn: { id: "t", responseParts: [part] } } as unknown as ChatState;
  expect(isAnswerIn(answerEditor("ahp-chat:/a", "q", "roof"), text, chat)).toBe(expected);
});
