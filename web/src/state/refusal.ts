// What a host does not take, and what else may move words: small questions
// about actions and envelopes.

import type { ActionEnvelope, StateAction } from "../protocol/types";

/** An own action that was rejected, and why. */
export interface Refusal {
  clientSeq: number;
  reason: string;
}

/** What a host takes by default is 16 MB, with all that goes around the words. */
export const MAX_WEIGHT = 12 * 1024 * 1024;
export const TOO_LARGE = "Not sent: a message can have 12 MB, attachments included.";
export const TOO_LARGE_HERE = "it is larger than this host accepts";

/** Said again after a lost connection: it had arrived the first time. */
export function isRepeat({ action, rejectionReason = "" }: ActionEnvelope): boolean {
  return action.type === "chat/turnStarted" && /exists already/.test(rejectionReason);
}

/** Deltas come by the thousand and move nothing. */
export function mayMoveWords({ type }: StateAction): boolean {
  return /^chat\/(turn|pendingMessage|draftChanged|responsePart|truncated|error|toolCallConfirmed|inputCompleted)/.test(type);
}

export function largestOf<T extends { action: StateAction }>(actions: readonly T[]): T | undefined {
  const sized = actions.map((own) => ({ own, size: JSON.stringify(own.action).length }));
  return sized.sort((a, b) => b.size - a.size)[0]?.own;
}
