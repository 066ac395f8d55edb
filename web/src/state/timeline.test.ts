import { expect, test } from "vitest";
import type { ChatState, Message } from "../protocol/types";
import { emptyChat } from "./testing";
import { timeline } from "./timeline";

test.each([
  ["user", "user", undefined],
  ["agent", "system", "The agent"],
  ["tool", "system", "A tool call"],
  ["automation", "system", "An automation"],
  ["systemNotification", "system", "The host"],
] as const)("a message of origin %s is shown as %s", (origin, kind, from) => {
  const message: Message = { text: "Look around", origin: { kind: origin } };
  const chat: ChatState = { ...emptyChat(), turns: [{ id: "t", message, responseParts: [], state: "complete", startedAt: "" } as never] };
  expect(timeline(chat)[0]).toMatchObject({ kind, text: "Look around" });
  expect(timeline(chat)[0]?.from).toBe(from);
});
