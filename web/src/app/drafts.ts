// What stands in the editors, told to the host: a moment after the last
// letter, when the page is left, when another session is opened, and when the
// connection is back. The browser's own storage has it already.

import type { ChatState, MessageAttachment, URI } from "../protocol/types";
import { stateOf } from "../state/derive";
import { attachmentWeight, NO_WORDS, sameWords, wordsOf } from "../state/words";
import type { Words } from "../state/words";
import { setDraft } from "./chat";
import type { Host } from "./host";

/** Typing rests for this long before others are shown what was typed. */
const REST_MS = 300;
/** A draft is sent again with every pause: more than this stays in the browser. */
export const SHARED_ATTACHMENTS = 256 * 1024;
const SHARED_TEXT = 1024 * 1024;

/** As much of a draft as the host is told. */
export function shareable({ text, attachments }: Words): Words {
  let room = SHARED_ATTACHMENTS;
  const shared: MessageAttachment[] = [];
  for (const attachment of attachments) {
    const weight = attachmentWeight(attachment);
    if (weight > room) continue;
    room -= weight;
    shared.push(attachment);
  }
  return { text: text.length > SHARED_TEXT ? "" : text, attachments: shared };
}

export function shareDrafts(host: Host): void {
  const { store, connection } = host;
  const seen = new Map<URI, Words>();
  const due = new Map<URI, ReturnType<typeof setTimeout> | undefined>();

  const share = (chat: URI) => {
    const { channels, drafts } = store.getState();
    const state = stateOf(channels, chat, "chat");
    const draft = drafts.get(chat);
    clearTimeout(due.get(chat));
    // What cannot be told now is told as soon as it can be.
    if (!state || !connection.ready) return void due.set(chat, undefined);
    due.delete(chat);
    if (draft?.isOwn) tell(host, chat, state, draft.words);
  };
  const shareAll = () => {
    for (const chat of [...due.keys()]) share(chat);
  };

  store.subscribe(() => {
    const { drafts, connected, channels } = store.getState();
    for (const [chat, { words, isOwn }] of drafts) {
      if (seen.get(chat) === words) continue;
      seen.set(chat, words);
      clearTimeout(due.get(chat));
      if (isOwn) due.set(chat, setTimeout(() => share(chat), REST_MS));
      else due.delete(chat);
    }
    if (!connected || !connection.ready) return;
    for (const [chat, timer] of due) if (timer === undefined && channels.has(chat)) share(chat);
  });
  addEventListener("pagehide", shareAll);
  addEventListener("hashchange", shareAll);
  document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && shareAll());
}

function tell(host: Host, chat: URI, { draft }: ChatState, words: Words): void {
  const told = shareable(words);
  if (sameWords(told, draft ? wordsOf(draft) : NO_WORDS)) return;
  setDraft(host, chat, { ...told, model: draft?.model, agent: draft?.agent });
}
