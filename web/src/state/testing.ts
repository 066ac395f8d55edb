// Small states and messages for tests.

import type { ChatAction, ChatState, Message, SessionSummary, StateAction } from "../protocol/types";
import { AppStore } from "./store";

export const CHAT = "ahp-chat:/c";
export const SESSION = "ahp-session:/s";

export function message(text: string): Message {
  return { text, origin: { kind: "user" } };
}

export function emptyChat(): ChatState {
  return { resource: CHAT, title: "", status: 1, modifiedAt: "2026-01-01T00:00:00.000Z", turns: [] };
}

export function started(turnId: string, text = "hi"): ChatAction {
  return { type: "chat/turnStarted", turnId, startedAt: "2026-01-01T00:00:00.000Z", message: message(text) };
}

export function part(turnId: string, id: string): ChatAction {
  return { type: "chat/responsePart", turnId, part: { kind: "markdown", id, content: "" } };
}

export function summary(changes: Partial<SessionSummary> = {}): SessionSummary {
  return {
    resource: SESSION,
    provider: "script",
    title: "A session",
    status: 33,
    createdAt: "2026-01-01T00:00:00.000Z",
    modifiedAt: "2026-01-01T00:00:00.000Z",
    ...changes,
  };
}

/** A store that publishes when told to, with a chat open. */
export function storeWithChat(chat: ChatState = emptyChat()) {
  const sent: { channel: string; clientSeq: number; action: StateAction }[] = [];
  const store = new AppStore({ clientId: "me", schedule: () => {} });
  store.connectTo((own) => sent.push(own));
  store.handleServerEvent({ type: "snapshot", snapshot: { resource: CHAT, state: chat, fromSeq: 1 } });
  store.select(SESSION, CHAT);
  store.flush();
  let seq = 1;
  const say = (action: StateAction, origin?: { clientId: string; clientSeq: number }, rejectionReason?: string, code?: string) =>
    store.handleServerEvent({
      type: "action",
      envelope: { channel: CHAT, action, serverSeq: ++seq, origin, rejectionReason, ...(code ? { _meta: { innkeeper: { code } } } : {}) },
    });
  return { store, sent, say };
}
