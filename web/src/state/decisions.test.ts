import { describe, expect, test } from "vitest";
import type { ChatAction } from "../protocol/types";
import { keyOfEntry, MOST_DECISIONS } from "./decisions";
import type { AppStore } from "./store";
import { emptyChat, message, SESSION, started, storeWithChat } from "./testing";

const OTHER_CHAT = "ahp-chat:/other";
const PHONE = { clientId: "phone", clientSeq: 1 };
const LAPTOP = { clientId: "laptop", clientSeq: 1 };

const begun = (turnId: string, toolCallId = "call-1"): ChatAction => ({ type: "chat/toolCallStart", turnId, toolCallId, toolName: "run", displayName: "Run" });
const ready = (turnId: string, toolCallId = "call-1"): ChatAction => ({ type: "chat/toolCallReady", turnId, toolCallId, invocationMessage: "Run it" });
const confirmed = (turnId: string, toolCallId = "call-1"): ChatAction => ({ type: "chat/toolCallConfirmed", turnId, toolCallId, approved: true });
const asked = (id: string): ChatAction => ({ type: "chat/inputRequested", request: { id, message: "Which?" } });
const answered = (requestId: string): ChatAction => ({ type: "chat/inputCompleted", requestId, response: "accept" });
const over = (turnId: string): ChatAction => ({ type: "chat/turnComplete", turnId, duration: 1 });

/** Who stands at the entries of the chat that is open: calls and questions, or what began the turns. */
function deciders(store: AppStore, which: "tool" | "system" | "user" = "tool"): (string | undefined)[] {
  store.flush();
  const { messages, decisions, currentChatId } = store.getState();
  return messages.filter(({ kind }) => kind === which).map((entry) => decisions.get(keyOfEntry(currentChatId ?? "", entry)));
}

describe("who decided", () => {
  test("stands at the call that was decided", () => {
    const { store, say } = storeWithChat();
    for (const action of [started("t"), begun("t"), ready("t")]) say(action);
    say(confirmed("t"), PHONE);
    expect(deciders(store)).toEqual(["phone"]);
  });

  test("does not stand at a call of another turn that has the same id", () => {
    const { store, say } = storeWithChat();
    for (const action of [started("t"), begun("t"), ready("t")]) say(action);
    say(confirmed("t"), PHONE);
    for (const action of [over("t"), started("u"), begun("u"), ready("u")]) say(action);
    expect(deciders(store)).toEqual(["phone", undefined]);
    say(confirmed("u"), LAPTOP);
    expect(deciders(store)).toEqual(["phone", "laptop"]);
  });

  test("does not stand at a call of another chat that has the same turn and id", () => {
    const { store, say } = storeWithChat();
    store.handleServerEvent({ type: "snapshot", snapshot: { resource: OTHER_CHAT, state: { ...emptyChat(), resource: OTHER_CHAT }, fromSeq: 1 } });
    const elsewhere = (action: ChatAction, serverSeq: number) =>
      store.handleServerEvent({ type: "action", envelope: { channel: OTHER_CHAT, action, serverSeq } });
    [started("t"), begun("t"), ready("t")].forEach((action, index) => {
      say(action);
      elsewhere(action, 100 + index);
    });
    say(confirmed("t"), PHONE);
    expect(deciders(store)).toEqual(["phone"]);
    store.select(SESSION, OTHER_CHAT);
    expect(deciders(store)).toEqual([undefined]);
  });

  test("does not stand at a question of another turn that has the same id", () => {
    const { store, say } = storeWithChat();
    for (const action of [started("t"), asked("q-1")]) say(action);
    say(answered("q-1"), PHONE);
    for (const action of [over("t"), started("u"), asked("q-1")]) say(action);
    expect(deciders(store, "system")).toEqual(["phone", undefined]);
  });

  test("is the one who decided last, also if a decision was there already", () => {
    const { store, say } = storeWithChat();
    for (const action of [started("t"), begun("t"), ready("t")]) say(action);
    say(confirmed("t"), PHONE);
    expect(deciders(store)).toEqual(["phone"]);
    say({ type: "chat/toolCallResultConfirmed", turnId: "t", toolCallId: "call-1", approved: true }, LAPTOP);
    expect(deciders(store)).toEqual(["laptop"]);
  });

  test("is nobody if the decision was rejected", () => {
    const { store, say } = storeWithChat();
    for (const action of [started("t"), begun("t"), ready("t")]) say(action);
    say(confirmed("t"), PHONE, "it was decided already");
    expect(deciders(store)).toEqual([undefined]);
  });

  test("is published again only if it has changed", () => {
    const { store, say } = storeWithChat();
    say(started("t"), PHONE);
    store.flush();
    const before = store.getState().decisions;
    for (const action of [begun("t"), ready("t")]) say(action);
    say(started("t"), PHONE);
    store.flush();
    expect(store.getState().decisions).toBe(before);
  });

  test("is forgotten of the oldest when there are too many", () => {
    const { store, say } = storeWithChat();
    for (let n = 0; n <= MOST_DECISIONS; n++) say(confirmed("t", `call-${n}`), PHONE);
    for (const action of [started("t"), begun("t", "call-0"), begun("t", "call-1")]) say(action);
    expect(deciders(store)).toEqual([undefined, "phone"]);
    expect(store.getState().decisions.size).toBe(MOST_DECISIONS);
  });
});

describe("who spoke", () => {
  test("stands at the turn that they began", () => {
    const { store, say } = storeWithChat();
    say(started("t"), PHONE);
    expect(deciders(store, "user")).toEqual(["phone"]);
  });

  test("stands at a message that steered a turn", () => {
    const { store, say } = storeWithChat();
    say(started("t"));
    say({ type: "chat/pendingMessageSet", kind: "steering", id: "s", message: message("left") }, PHONE);
    const _meta = { innkeeper: { steering: { id: "s", message: message("left") } } };
    say({ type: "chat/responsePart", turnId: "t", part: { kind: "systemNotification", content: "left", _meta } });
    expect(deciders(store, "user")).toEqual([undefined, "phone"]);
  });
});
