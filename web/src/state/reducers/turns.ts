// The beginnings and ends of turns, and the history that they leave.

import { Status } from "../../protocol/types";
import type { ChatAction, ChatState, ErrorPart, ResponsePart, Turn, TurnState } from "../../protocol/types";
import { withField } from "./lists";
import { withActivity, withFlag } from "./status";
import { withoutQueued } from "./pendingMessages";
import { skipped } from "./toolCall";

type Of<T extends ChatAction["type"]> = Extract<ChatAction, { type: T }>;

export function startTurn(state: ChatState, action: Of<"chat/turnStarted">): ChatState {
  const { turnId: id, startedAt, message, queuedMessageId } = action;
  const activeTurn = { id, startedAt, message, responseParts: [] };
  let next = unread(withActivity({ ...state, activeTurn, modifiedAt: startedAt }));
  if (queuedMessageId !== undefined) {
    next = withoutQueued(next, queuedMessageId);
    if (next.steeringMessage?.id === queuedMessageId) next = withField(next, "steeringMessage", undefined);
  }
  return next;
}

export function endTurn(
  state: ChatState,
  { turnId, duration }: { turnId: string; duration: number },
  outcome: TurnState,
  error?: ErrorPart,
): ChatState {
  const { activeTurn: active, ...rest } = state;
  if (active?.id !== turnId) return state;
  const took = Math.max(0, duration);
  const started = Date.parse(active.startedAt);
  if (Number.isNaN(started)) return state;
  const responseParts = active.responseParts.map(settled);
  if (error) responseParts.push({ ...error, kind: "error" });
  const turn: Turn = { ...active, responseParts, duration: took, state: outcome };
  const ended = { ...rest, turns: [...state.turns, turn], modifiedAt: new Date(started + took).toISOString() };
  return withActivity(ended, outcome === "error" ? Status.Error : undefined);
}

function settled(part: ResponsePart): ResponsePart {
  if (part.kind !== "toolCall") return part;
  const toolCall = skipped(part.toolCall);
  return toolCall === part.toolCall ? part : { kind: "toolCall", toolCall };
}

export function resumeTurn(state: ChatState, turnId: string): ChatState {
  const turn = state.turns.at(-1);
  const last = turn?.responseParts.at(-1);
  const resumable = turn?.id === turnId && turn.state === "error" && last?.kind === "error" && last.resumable;
  if (state.activeTurn || !turn || !resumable) return state;
  const { state: _, duration: __, ...kept } = turn;
  const activeTurn = { ...kept, startedAt: turn.startedAt ?? state.modifiedAt };
  return unread(withActivity({ ...state, turns: state.turns.slice(0, -1), activeTurn }));
}

export function truncate(state: ChatState, turnId: string | undefined): ChatState {
  const { activeTurn: _, ...rest } = state;
  if (turnId === undefined) return withActivity(withField({ ...rest, turns: [] }, "turnsNextCursor", undefined));
  const at = state.turns.findIndex((turn) => turn.id === turnId);
  return at < 0 ? state : withActivity({ ...rest, turns: state.turns.slice(0, at + 1) });
}

export function loadTurns(state: ChatState, action: Of<"chat/turnsLoaded">): ChatState {
  const known = new Set(state.turns.map((turn) => turn.id));
  const older = action.turns.filter((turn) => !known.has(turn.id));
  const next = { ...state, turns: [...older, ...state.turns] };
  return withField(next, "turnsNextCursor", action.turnsNextCursor);
}

function unread(state: ChatState): ChatState {
  return { ...state, status: withFlag(state.status, Status.IsRead, false) };
}
