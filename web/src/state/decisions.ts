// Who did what, as far as this page has heard it: only the action says so, no
// state keeps it.

import type { StateAction, URI } from "../protocol/types";
import type { UiMessage } from "./appState";

/** What somebody decided or said in a chat. Agents name calls and questions, and may count them anew in every turn. */
export type Subject =
  | [kind: "call", turnId: string, toolCallId: string]
  | [kind: "question", turnId: string, requestId: string]
  | [kind: "turn", turnId: string]
  | [kind: "message", messageId: string];

declare const isKey: unique symbol;
export type DecisionKey = string & { readonly [isKey]: true };

/** The client that did it. */
export type Decisions = ReadonlyMap<DecisionKey, string>;

/** The oldest ones beyond this are forgotten; what they would say is a courtesy. */
export const MOST_DECISIONS = 1_000;

export function decisionKey(chat: URI, subject: Subject): DecisionKey {
  return JSON.stringify([chat, ...subject]) as DecisionKey;
}

/** Under which key stands who said or decided what an entry shows. */
export function keyOfEntry(chat: URI, message: UiMessage): DecisionKey {
  return decisionKey(chat, subjectOfEntry(message));
}

function subjectOfEntry({ id, turnId, steeringId, toolCall, question }: UiMessage): Subject {
  if (steeringId !== undefined) return ["message", steeringId];
  if (turnId === undefined) return ["message", id];
  if (toolCall) return ["call", turnId, toolCall.toolCallId];
  if (question) return ["question", turnId, question.request.id];
  return ["turn", turnId];
}

/** What was known, and what an accepted action of a client adds; the very same if that is nothing. */
export function withDecision(known: Decisions, { chat, activeTurnId }: { chat: URI; activeTurnId?: string }, action: StateAction, clientId: string): Decisions {
  const subject = subjectOfAction(action, activeTurnId);
  if (!subject) return known;
  const key = decisionKey(chat, subject);
  if (known.get(key) === clientId) return known;
  const next = new Map(known);
  // What is decided anew is the newest.
  next.delete(key);
  next.set(key, clientId);
  for (const oldest of next.keys()) {
    if (next.size <= MOST_DECISIONS) break;
    next.delete(oldest);
  }
  return next;
}

function subjectOfAction(action: StateAction, activeTurnId: string | undefined): Subject | undefined {
  switch (action.type) {
    case "chat/toolCallConfirmed":
    case "chat/toolCallResultConfirmed":
      return ["call", action.turnId, action.toolCallId];
    case "chat/inputCompleted":
      // The action does not name the turn: only the one that runs can ask.
      return activeTurnId === undefined ? undefined : ["question", activeTurnId, action.requestId];
    case "chat/turnStarted":
      return ["turn", action.turnId];
    case "chat/pendingMessageSet":
      return ["message", action.id];
    default:
      return undefined;
  }
}
