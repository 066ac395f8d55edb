// The one steering message that waits. The protocol replaces it with the next
// one, so what waits is joined into what replaces it. Every message says which
// words it holds, by the ids that they were given when they were said.

import type { ChatState, Message, PendingMessage, ResponsePart } from "../protocol/types";
import { joinWords, wordsOf } from "./words";

/** Our own mark on a message: it survives the way from queue to turn. */
export const MESSAGE_ID = "innkeeper.messageId";
/** Ids of earlier messages that were joined into this one. */
const JOINED_IDS = "innkeeper.joinedIds";

export function marked(message: Message, id: string): Message {
  return { ...message, _meta: { ...message._meta, [MESSAGE_ID]: id } };
}

/** All ids under which the words of a message were said. */
export function idsOf({ _meta }: Pick<Message, "_meta">): string[] {
  const own = _meta?.[MESSAGE_ID];
  const joined = _meta?.[JOINED_IDS];
  const all = [...(Array.isArray(joined) ? joined : []), own];
  return all.filter((id) => typeof id === "string");
}

/** The message behind what waits already, in one. */
export function joinedTo(waiting: PendingMessage | undefined, message: Message): Message {
  if (!waiting) return message;
  const { text, attachments } = joinWords(wordsOf(waiting.message), wordsOf(message));
  const ids = [...new Set([...idsOf(waiting.message), waiting.id])];
  return {
    ...message,
    text,
    ...(attachments.length ? { attachments: [...attachments] } : {}),
    _meta: { ...message._meta, [JOINED_IDS]: ids },
  };
}

/** A steering message that the agent took up, as the host writes it down. */
export interface TakenUp {
  id: string;
  message: Message;
}

export function takenUp(part: ResponsePart): TakenUp | undefined {
  if (part.kind !== "systemNotification") return undefined;
  const innkeeper = part._meta?.["innkeeper"] as { steering?: { id?: unknown; message?: Message } } | undefined;
  const steering = innkeeper?.steering;
  if (typeof steering?.id !== "string") return undefined;
  const text = typeof part.content === "string" ? part.content : part.content.markdown;
  return { id: steering.id, message: steering.message ?? { text, origin: { kind: "user" } } };
}

/** Every id that was said in the chat's turns, as far as they are here. */
export function saidIn({ turns, activeTurn }: Pick<ChatState, "turns" | "activeTurn">, id: string): boolean {
  const isIn = (turn: ChatState["turns"][number] | NonNullable<ChatState["activeTurn"]>) =>
    turn.id === id ||
    idsOf(turn.message).includes(id) ||
    turn.responseParts.some((part) => {
      const taken = takenUp(part);
      return taken !== undefined && (taken.id === id || idsOf(taken.message).includes(id));
    });
  return (activeTurn !== undefined && isIn(activeTurn)) || turns.findLastIndex(isIn) >= 0;
}

/** Whether the words with this id wait in the chat. */
export function waitsIn({ steeringMessage, queuedMessages }: ChatState, id: string): boolean {
  const waiting = [...(queuedMessages ?? []), ...(steeringMessage ? [steeringMessage] : [])];
  return waiting.some((entry) => entry.id === id || idsOf(entry.message).includes(id));
}
