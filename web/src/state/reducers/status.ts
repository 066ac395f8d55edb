import { ACTIVITY_MASK, Status } from "../../protocol/types";
import type { ChatState } from "../../protocol/types";

export function withFlag(status: number, flag: number, set: boolean): number {
  return set ? status | flag : status & ~flag;
}

/** A chat's activity follows from its running turn; its flags stay. */
export function withActivity(state: ChatState, ended?: number): ChatState {
  return { ...state, status: (state.status & ~ACTIVITY_MASK) | (ended ?? activityOf(state)) };
}

function activityOf({ activeTurn }: ChatState): number {
  if (!activeTurn) return Status.Idle;
  const blocked = activeTurn.responseParts.some((part) => {
    if (part.kind === "inputRequest") return part.response === undefined;
    if (part.kind !== "toolCall") return false;
    return BLOCKING.has(part.toolCall.status);
  });
  return blocked ? Status.InputNeeded : Status.InProgress;
}

const BLOCKING = new Set(["pending-confirmation", "pending-result-confirmation", "auth-required"]);
