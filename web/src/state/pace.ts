// How long things take, as far as this page has seen them begin: the state says
// when a turn began, but neither when a call did nor how long anybody was
// waited for.

import { Status } from "../protocol/types";
import type { ChatState, StateAction, ToolCall, URI } from "../protocol/types";

export interface Wait {
  /** What was waited for before, in milliseconds. */
  total: number;
  /** Since when it waits again. */
  since?: number;
}

export interface Pace {
  /** When calls began to run, by chat and call. */
  begun: ReadonlyMap<string, number>;
  /** How long the running turn of a chat has waited for somebody. */
  waits: ReadonlyMap<URI, Wait>;
  /** How long turns that have ended had waited, by turn. */
  waited: ReadonlyMap<string, number>;
}

/** Of more turns than this it is forgotten. */
const MOST_TURNS = 500;

export const NO_PACE: Pace = { begun: new Map(), waits: new Map(), waited: new Map() };

export function callKey(chat: URI, toolCallId: string): string {
  return `${chat}#${toolCallId}`;
}

/** What happens all the time and begins nothing. */
const STREAMED = new Set(["chat/delta", "chat/reasoning", "chat/toolCallDelta", "chat/toolCallContentChanged", "chat/usage", "chat/draftChanged"]);

/** What is known after an action; the very same if that is nothing new. */
export function withPace(known: Pace, chat: ChatState, action: StateAction, now: number): Pace {
  if (STREAMED.has(action.type)) return known;
  return withWait(withBegun(known, chat, action, now), chat, action, now);
}

function withBegun(known: Pace, { resource, activeTurn }: ChatState, action: StateAction, now: number): Pace {
  if (!activeTurn) {
    const prefix = callKey(resource, "");
    const left = [...known.begun].filter(([key]) => !key.startsWith(prefix));
    return left.length === known.begun.size ? known : { ...known, begun: new Map(left) };
  }
  if (!("toolCallId" in action) || typeof action.toolCallId !== "string") return known;
  const key = callKey(resource, action.toolCallId);
  const isRunning = callOf(activeTurn, action.toolCallId)?.status === "running";
  if (isRunning === known.begun.has(key)) return known;
  const begun = new Map(known.begun);
  if (isRunning) begun.set(key, now);
  else begun.delete(key);
  return { ...known, begun };
}

function callOf({ responseParts }: NonNullable<ChatState["activeTurn"]>, id: string): ToolCall | undefined {
  for (const part of responseParts.toReversed()) if (part.kind === "toolCall" && part.toolCall.toolCallId === id) return part.toolCall;
  return undefined;
}

function withWait(known: Pace, { resource, status, activeTurn }: ChatState, action: StateAction, now: number): Pace {
  const before = known.waits.get(resource);
  const isNew = action.type === "chat/turnStarted";
  const isWaiting = activeTurn !== undefined && (status & Status.InputNeeded) === Status.InputNeeded;
  const settled = isNew ? { total: 0 } : (before ?? { total: 0 });
  const total = settled.since === undefined || isWaiting ? settled.total : settled.total + Math.max(0, now - settled.since);
  const wait: Wait | undefined = isWaiting ? { total, since: settled.since ?? now } : total > 0 && activeTurn ? { total } : undefined;
  if (wait?.total === before?.total && wait?.since === before?.since) return known;
  const waits = new Map(known.waits);
  if (wait) waits.set(resource, wait);
  else waits.delete(resource);
  return { ...known, waits, waited: activeTurn ? known.waited : withEnded(known.waited, action, total) };
}

function withEnded(known: Pace["waited"], action: StateAction, total: number): Pace["waited"] {
  if (total <= 0 || !("turnId" in action) || typeof action.turnId !== "string") return known;
  return new Map([...known, [action.turnId, total] as const].slice(-MOST_TURNS));
}

/** How long a turn has worked, without what it waited for somebody. */
export function workedFor(startedAt: string | undefined, wait: Wait | undefined, now: number): number | undefined {
  const start = startedAt === undefined ? Number.NaN : Date.parse(startedAt);
  if (Number.isNaN(start)) return undefined;
  const waited = (wait?.total ?? 0) + (wait?.since === undefined ? 0 : Math.max(0, now - wait.since));
  return Math.max(0, now - start - waited);
}
