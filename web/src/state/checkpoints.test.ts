import { expect, test } from "vitest";
import { Status } from "../protocol/types";
import type { ChatState, RootState } from "../protocol/types";
import { isKept, TAKE_BACK, takenBackWith } from "./checkpoints";

const root: RootState = { agents: [], _meta: { innkeeper: { extensions: { [TAKE_BACK]: 1 } } } };
const message = { text: "said", origin: { kind: "user" as const } };
const chat = { resource: "x:/chat", title: "", status: 1, modifiedAt: "", turns: [{ id: "t", message, responseParts: [], state: "complete" }] } as ChatState;

test("a turn is taken back where the host can do that and nothing runs", () => {
  expect(takenBackWith({ root, chat, streaming: false }, "t")).toBe(message);
  expect(takenBackWith({ root: { agents: [] }, chat, streaming: false }, "t")).toBeUndefined();
  expect(takenBackWith({ root, chat, streaming: true }, "t")).toBeUndefined();
  expect(takenBackWith({ root, chat: { ...chat, interactivity: "read-only" }, streaming: false }, "t")).toBeUndefined();
  expect(takenBackWith({ root, chat, streaming: false }, "another")).toBeUndefined();
});

test("what was kept can be returned to until somebody has", () => {
  const kept = { ...chat, status: Status.Idle | Status.IsArchived, _meta: { innkeeper: { takenBack: { chat: "x:/a", turnId: "t", files: true } } } };
  expect(isKept(kept)).toBe(true);
  expect(isKept({ ...kept, status: Status.Idle })).toBe(false);
  expect(isKept({ ...chat, status: Status.Idle | Status.IsArchived })).toBe(false);
});
