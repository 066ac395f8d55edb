// What stands in the editors, one draft for each chat. A draft is written
// here, comes back from a message that was not taken, or comes from the host,
// where another client wrote it. None of these overwrites another's words.

import type { Words } from "./words";
import { holds, isEmpty, joinWords, NO_WORDS, sameWords } from "./words";

export interface Draft {
  words: Words;
  /** Written here, not only shown here. */
  isOwn: boolean;
  /** The host's draft, when it was last the same as this one. */
  shared: Words;
  /** Came from the browser's storage and was not compared with the host's yet. */
  isRestored?: boolean;
  /** Why words came back. */
  note?: string;
}

export const NO_DRAFT: Draft = { words: NO_WORDS, isOwn: false, shared: NO_WORDS };

export function written(draft: Draft, words: Words): Draft {
  const { note, ...rest } = draft;
  return { ...rest, words, isOwn: true, ...(note && !isEmpty(words) ? { note } : {}) };
}

/** The editor is empty again: its words are on their way. */
export function spoken(draft: Draft): Draft {
  return { words: NO_WORDS, isOwn: false, shared: draft.shared };
}

/** Words come back: before what is being written now, for they are older. */
export function givenBack(draft: Draft, words: Words, note?: string): Draft {
  const back = holds(draft.words, words) ? draft.words : joinWords(words, draft.words);
  return { ...draft, words: back, isOwn: true, ...(note ? { note } : {}) };
}

/**
 * The host's draft has changed, or is seen for the first time. `wasSaid` knows
 * what stands in the chat already.
 */
export function hostSays(draft: Draft, host: Words, wasSaid: (words: Words) => boolean): Draft {
  const { isRestored, ...known } = draft;
  const note = isEmpty(host) ? undefined : draft.note;
  const taken: Draft = { words: host, isOwn: false, shared: host, ...(note ? { note } : {}) };
  if (!draft.isOwn) return taken;
  if (sameWords(draft.words, host)) return { ...known, shared: host };
  // Nobody else has written since: what is here is newer.
  if (sameWords(draft.shared, host)) return known;
  if (isEmpty(draft.words) || holds(host, draft.words)) return taken;
  // Sent from another client, which emptied the draft that both had.
  if ((isRestored || isEmpty(host)) && wasSaid(draft.words)) return taken;
  if (holds(draft.words, host)) return { ...known, shared: host };
  // While somebody writes here, the others' words are in the others' editors.
  if (!isRestored) return { ...known, shared: host };
  return { ...known, words: joinWords(host, draft.words), shared: host };
}
