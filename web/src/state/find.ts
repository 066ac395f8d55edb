// Finding words in a conversation, whether or not they are on the screen.

import type { UiMessage } from "./appState";

export interface Hit {
  /** The entry that has the words. */
  id: string;
  turnId: string | undefined;
  /** Whether they may stand in a part of it that is closed. */
  isInside: boolean;
}

/** More than this nobody steps through. */
export const MOST_HITS = 2_000;

/** All entries that have the words, in their order. */
export function findIn(messages: readonly UiMessage[], query: string): Hit[] {
  const wanted = query.trim().toLowerCase();
  const hits: Hit[] = [];
  if (!wanted) return hits;
  for (const message of messages) {
    if (hits.length >= MOST_HITS) break;
    const isShown = holds(message.text, wanted);
    const isInside = !isShown && insideOf(message).some((text) => holds(text, wanted));
    const mayBeClosed = message.kind === "thinking" || message.kind === "user" || message.kind === "system";
    if (isShown || isInside) hits.push({ id: message.id, turnId: message.turnId, isInside: isInside || mayBeClosed });
  }
  return hits;
}

function holds(text: string | undefined, wanted: string): boolean {
  return text !== undefined && text !== "" && text.toLowerCase().includes(wanted);
}

/** What an entry shows when it is opened. */
function insideOf({ toolStep, bashResult, question }: UiMessage): (string | undefined)[] {
  const questions = question?.request.questions ?? [];
  return [toolStep?.toolArgs, toolStep?.result, toolStep?.toolName, bashResult?.command, bashResult?.output, question?.request.message, ...questions.map(({ message }) => message)];
}

/** The hit to begin with: the one that was shown, else the last: what is new is looked for more often. */
export function startAt(hits: readonly Hit[], shown: string | undefined): number {
  const at = hits.findIndex(({ id }) => id === shown);
  return at >= 0 ? at : hits.length - 1;
}
