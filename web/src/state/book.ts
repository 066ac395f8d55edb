// The words of this page: what stands in its editors, and what it said until
// that has arrived.
//
// Invariant: whatever was typed, pasted or dropped is at every moment in an
// editor, waiting, or in the timeline. So words are written down as said
// before they leave the editor, and struck out only when they stand elsewhere.

import type { ChatState, URI } from "../protocol/types";
import type { PendingAction } from "./channel";
import { givenBack, hostSays, NO_DRAFT, spoken as emptied, written } from "./drafts";
import type { Draft } from "./drafts";
import type { Refusal } from "./refusal";
import { placeOf } from "./spoken";
import type { Spoken } from "./spoken";
import { isAnswerIn, isOpenEditor, waitingId } from "./waiting";
import { holds, isEmpty, NO_WORDS, wordsOf } from "./words";
import type { Words } from "./words";

/** Where words outlive the page. */
export interface Shelf {
  keepDraft(chat: URI, draft: Draft | undefined): void;
  keepSpoken(spoken: Spoken): void;
  dropSpoken(id: string): void;
}

/** What an audit looks at. */
export interface Seen {
  view: ChatState;
  confirmed: ChatState;
  pending: readonly PendingAction[];
}

const NOWHERE: Shelf = { keepDraft: () => {}, keepSpoken: () => {}, dropSpoken: () => {} };
const LOST = "This message did not reach the host. You can send it again.";
const REPLACED = "Another client replaced this message before the agent took it up.";

export class Book {
  drafts: ReadonlyMap<URI, Draft> = new Map();
  private readonly spoken = new Map<string, Spoken>();

  constructor(private readonly shelf: Shelf = NOWHERE) {}

  draftOf(chat: URI): Draft {
    return this.drafts.get(chat) ?? NO_DRAFT;
  }

  // ── What happens in the editor ──

  write(chat: URI, words: Words): void {
    this.put(chat, written(this.draftOf(chat), words));
  }

  giveBack(chat: URI, words: Words, note?: string): void {
    if (!isEmpty(words)) this.put(chat, givenBack(this.draftOf(chat), words, note));
  }

  clear(editor: URI): void {
    if (this.drafts.has(editor)) this.put(editor, NO_DRAFT);
  }

  dismissNote(chat: URI): void {
    const { note: _, ...draft } = this.draftOf(chat);
    this.put(chat, draft);
  }

  /** Words leave an editor; until they have arrived they stand here. */
  say(said: Spoken, editor: URI | undefined): void {
    if (isEmpty(said.words)) return;
    this.spoken.set(said.id, said);
    this.shelf.keepSpoken(said);
    if (editor !== undefined) this.put(editor, emptied(this.draftOf(editor)));
  }

  /** Words that an earlier page has left behind. */
  restore(drafts: Iterable<[URI, Draft]>, said: Iterable<Spoken>): void {
    for (const [chat, draft] of drafts) {
      const known = this.drafts.get(chat);
      if (!known) this.put(chat, draft);
      else if (known.isOwn) this.put(chat, givenBack(known, draft.words, draft.note));
      else this.put(chat, hostSays(draft, known.words, () => false));
    }
    for (const one of said) {
      if (this.spoken.has(one.id)) continue;
      this.spoken.set(one.id, one);
      this.shelf.keepSpoken(one);
    }
  }

  // ── What becomes of it ──

  hostSays(chat: URI, { draft, turns, activeTurn, queuedMessages, steeringMessage }: ChatState): void {
    const before = this.drafts.get(chat);
    const host = draft ? wordsOf(draft) : NO_WORDS;
    if (!before && isEmpty(host)) return;
    const recent = [...turns.slice(-5), ...(activeTurn ? [activeTurn] : []), ...(queuedMessages ?? []), ...(steeringMessage ? [steeringMessage] : [])];
    const wasSaid = (words: Words) => recent.some(({ message }) => holds(wordsOf(message), words));
    const after = hostSays(before ?? NO_DRAFT, host, wasSaid);
    if (after !== before) this.put(chat, after);
  }

  /** The host has echoed an own action. */
  confirm(clientSeq: number): void {
    for (const one of this.spoken.values()) {
      if (one.clientSeq !== clientSeq || one.isConfirmed) continue;
      const next = { ...one, isConfirmed: true };
      this.spoken.set(one.id, next);
      this.shelf.keepSpoken(next);
    }
  }

  /** The words with these ids were taken up, or taken out by somebody. */
  forget(ids: readonly string[]): void {
    for (const id of ids) {
      if (this.spoken.delete(id)) this.shelf.dropSpoken(id);
    }
  }

  /** Whether an own action carries words that are not elsewhere yet. */
  carries(clientSeq: number): boolean {
    return [...this.spoken.values()].some((one) => one.clientSeq === clientSeq);
  }

  hasSpokenIn(chat: URI): boolean {
    return this.spokenIn(chat).length > 0;
  }

  /** What was attached to messages of this page that the host may have moved. */
  wordsOfSaid(ids: readonly string[]): Words[] {
    return ids.flatMap((id) => this.spoken.get(id)?.words ?? []);
  }

  /** Looks where everything is that was said in a chat. `refusal` is the reason for one that was refused. */
  audit(chat: URI, { view, confirmed, pending }: Seen, refusal?: Refusal): void {
    const lost: Words[] = [];
    let note = "";
    for (const one of this.spokenIn(chat)) {
      const isRefused = refusal !== undefined && one.clientSeq === refusal.clientSeq;
      const place = isRefused && one.manner === "deny" ? "nowhere" : placeOf(one, view, confirmed, pending);
      if (place === "waiting" || place === "on its way") continue;
      if (place === "nowhere") {
        lost.push(one.words);
        note = isRefused ? `Not sent: ${refusal.reason}` : one.isConfirmed ? REPLACED : LOST;
      } else this.forget([one.id]);
    }
    this.giveBackAll(chat, lost, note);
    for (const one of this.spokenIn(chat)) if (lost.includes(one.words)) this.forget([one.id]);
  }

  /** What was written next to a request that nobody can decide any more goes to the editor. */
  sweep(chat: URI, view: ChatState): void {
    for (const [key, { words }] of this.drafts) {
      if (!key.startsWith(waitingId(chat, "")) || isEmpty(words) || isOpenEditor(key, view)) continue;
      if (!isAnswerIn(key, words.text, view)) this.giveBack(chat, words, "This was decided before you sent it.");
      this.clear(key);
    }
  }

  /** A chat went away with what was on its way to it. */
  gone(chat: URI, pending: readonly PendingAction[]): void {
    const stranded = this.spokenIn(chat).filter(({ clientSeq }) => pending.some((own) => own.clientSeq === clientSeq));
    this.giveBackAll(chat, stranded.map(({ words }) => words), LOST);
    this.forget(stranded.map(({ id }) => id));
  }

  /** Oldest first, in front of what is being written. */
  private giveBackAll(chat: URI, all: readonly Words[], note: string): void {
    for (const words of all.toReversed()) this.giveBack(chat, words, note);
  }

  private spokenIn(chat: URI): Spoken[] {
    return [...this.spoken.values()].filter((one) => one.chat === chat);
  }

  private put(chat: URI, draft: Draft): void {
    const drafts = new Map(this.drafts);
    drafts.set(chat, draft);
    this.drafts = drafts;
    this.shelf.keepDraft(chat, draft.isOwn ? draft : undefined);
  }
}
