// What was said here and has not arrived for good: each message stays in this
// book from the moment it leaves the editor until it stands in the timeline.
// Words that are nowhere else any more are given back.

import type { ChatState, Message, StateAction, URI } from "../protocol/types";
import type { PendingAction } from "./channel";
import { idsOf, saidIn, takenUp, waitsIn } from "./steering";
import { holds, wordsOf } from "./words";
import type { Words } from "./words";

export type Manner = "send" | "steer" | "queue" | "deny";

export interface Spoken {
  id: string;
  chat: URI;
  manner: Manner;
  words: Words;
  /** The number of the action that carries it; none after a reload. */
  clientSeq?: number;
  /** The host has echoed it. */
  isConfirmed: boolean;
}

export type Place = "timeline" | "waiting" | "on its way" | "gone" | "nowhere";

/** Where a message is, given what the chat looks like and what is on its way to the host. */
export function placeOf(spoken: Spoken, chat: ChatState, confirmed: ChatState, pending: readonly PendingAction[]): Place {
  const { id, manner, isConfirmed, words } = spoken;
  if (pending.some(({ clientSeq }) => clientSeq === spoken.clientSeq)) return "on its way";
  if (manner === "deny") return "gone";
  if (saidIn(confirmed, id)) return "timeline";
  if (waitsIn(chat, id)) return "waiting";
  // Other clients may join without leaving our mark.
  if (manner === "steer") {
    const { steeringMessage } = chat;
    if (steeringMessage && holds(wordsOf(steeringMessage.message), words)) return "waiting";
    if (lastTakenUp(confirmed).some((message) => holds(wordsOf(message), words))) return "timeline";
  }
  // A queued message leaves the queue for a turn, or because a person took it
  // out; only a steering message can be put aside without anybody wanting that.
  if (manner === "queue" && isConfirmed) return "gone";
  return "nowhere";
}

/** What steered the turn that runs and the one before it; a host may say no more than the text. */
function lastTakenUp({ turns, activeTurn }: ChatState): Message[] {
  const parts = [...(turns.at(-1)?.responseParts ?? []), ...(activeTurn?.responseParts ?? [])];
  return parts.flatMap((part) => takenUp(part)?.message ?? []);
}

/** The ids of the words that an action takes out of what waits. */
export function removedBy(action: StateAction, before: ChatState): string[] {
  if (action.type !== "chat/pendingMessageRemoved") return [];
  const { steeringMessage, queuedMessages } = before;
  const waiting = action.kind === "steering" ? (steeringMessage ? [steeringMessage] : []) : (queuedMessages ?? []);
  const entry = waiting.find(({ id }) => id === action.id);
  return entry ? [entry.id, ...idsOf(entry.message)] : [action.id];
}
