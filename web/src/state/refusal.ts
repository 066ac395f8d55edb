// What a host does not take, and what else may move words: small questions
// about actions and envelopes.

import { isRejectedAs } from "../protocol/rejection";
import type { ActionEnvelope, StateAction } from "../protocol/types";
import { holdsTurn } from "./channel";
import type { ChannelState } from "./reducers";

/** An own action that was rejected, and why. */
export interface Refusal {
  clientSeq: number;
  reason: string;
}

/** What a host takes is 8 MiB, with all that goes around the words. */
export const MAX_WEIGHT = 7.75 * 1024 * 1024;
export const TOO_LARGE = "Not sent: a message can have 8 MB of text.";
export const TOO_LARGE_HERE = "it is larger than this host accepts";

/**
 * The turn that a rejected action meant to begin although it is there: said
 * again after a lost connection, it had arrived the first time. A host that
 * gives no code has at least shown the turn.
 */
export function repeatedTurn(rejected: ActionEnvelope, confirmed: ChannelState | undefined): string | undefined {
  const { action } = rejected;
  if (action.type !== "chat/turnStarted") return undefined;
  const isThere = confirmed?.kind === "chat" && holdsTurn(confirmed.state, action.turnId);
  return isThere || isRejectedAs(rejected, "turnExists") ? action.turnId : undefined;
}

/** Deltas come by the thousand and move nothing. */
export function mayMoveWords({ type }: StateAction): boolean {
  return /^chat\/(turn|pendingMessage|draftChanged|responsePart|truncated|error|toolCallConfirmed|inputCompleted)/.test(type);
}

export function largestOf<T extends { action: StateAction }>(actions: readonly T[]): T | undefined {
  const sized = actions.map((own) => ({ own, size: JSON.stringify(own.action).length }));
  return sized.sort((a, b) => b.size - a.size)[0]?.own;
}
