import { expect, test } from "vitest";
import { Status } from "../protocol/types";
import type { ChatState, StateAction } from "../protocol/types";
import { callKey, NO_PACE, withPace, workedFor } from "./pace";

const chat = (status: string | undefined, isBlocked = false): ChatState => {
  const parts = status ? [{ kind: "toolCall", toolCall: { toolCallId: "c", status } }] : [];
  const activeTurn = status === undefined ? undefined : { id: "t", startedAt: "", responseParts: parts };
  return { resource: "x:/chat", status: isBlocked ? Status.InputNeeded : Status.InProgress, turns: [], activeTurn } as unknown as ChatState;
};
const ready = { type: "chat/toolCallReady", turnId: "t", toolCallId: "c" } as StateAction;
const decided = { type: "chat/toolCallConfirmed", turnId: "t", toolCallId: "c" } as StateAction;
const ended = { type: "chat/turnComplete", turnId: "t" } as StateAction;

test("a call is timed from when it runs to when it ends", () => {
  const running = withPace(NO_PACE, chat("running"), ready, 100);
  expect(running.begun.get(callKey("x:/chat", "c"))).toBe(100);
  expect(withPace(running, chat("running"), ready, 200)).toBe(running);
  expect(withPace(running, chat("completed"), decided, 300).begun.size).toBe(0);
  expect(withPace(running, chat(undefined), ended, 300).begun.size).toBe(0);
});

test("what is streamed changes nothing", () => {
  expect(withPace(NO_PACE, chat("running"), { type: "chat/delta", turnId: "t", partId: "p", content: "x" } as StateAction, 1)).toBe(NO_PACE);
});

test("time that was spent waiting does not count, however often", () => {
  let pace = withPace(NO_PACE, chat("pending-confirmation", true), ready, 1_000);
  expect(workedFor("1970-01-01T00:00:00.500Z", pace.waits.get("x:/chat"), 9_000)).toBe(500);
  pace = withPace(pace, chat("running"), decided, 11_000);
  pace = withPace(pace, chat("pending-confirmation", true), ready, 12_000);
  pace = withPace(pace, chat("running"), decided, 15_000);
  expect(pace.waits.get("x:/chat")).toEqual({ total: 13_000 });
  expect(workedFor("1970-01-01T00:00:00.500Z", pace.waits.get("x:/chat"), 16_000)).toBe(2_500);
  const after = withPace(pace, chat(undefined), ended, 17_000);
  expect(after.waits.size).toBe(0);
  expect(after.waited.get("t")).toBe(13_000);
});

test("a turn that is ended while it waits has waited until then", () => {
  const pace = withPace(NO_PACE, chat("pending-confirmation", true), ready, 1_000);
  expect(withPace(pace, chat(undefined), ended, 4_000).waited.get("t")).toBe(3_000);
});

test("a start that is not a time says nothing", () => {
  expect(workedFor("soon", undefined, 1)).toBeUndefined();
  expect(workedFor(undefined, undefined, 1)).toBeUndefined();
});
