// Files that are mentioned in a text (`@menu.txt`) and attached for that: the
// attachment goes when its mention is deleted, and comes back with it.

import type { MessageAttachment } from "../protocol/types";
import type { Words } from "./words";

/** The text after a change, with the attachments that belong to it. `dropped` are those that went with their mention before. */
export function followMentions(words: Words, text: string, dropped: readonly MessageAttachment[]): { words: Words; dropped: readonly MessageAttachment[] } {
  const lost = words.attachments.filter((one) => isMentioned(words.text, one) && !isMentioned(text, one));
  const back = dropped.filter((one) => isMentioned(text, one));
  if (lost.length === 0 && back.length === 0) return { words: { ...words, text }, dropped };
  return {
    words: { text, attachments: [...words.attachments.filter((one) => !lost.includes(one)), ...back] },
    dropped: [...dropped.filter((one) => !back.includes(one)), ...lost],
  };
}

function isMentioned(text: string, { type, label }: MessageAttachment): boolean {
  if (type !== "resource" || !label) return false;
  // A skill stands in the text under its own name.
  if (label.startsWith("/")) return text.split(/\s+/).includes(label);
  const words = text.match(/@\S+/g) ?? [];
  return words.some((word) => word === `@${label}` || word.endsWith(`/${label}`) || word.replace(/[.,;:!?)]+$/, "") === `@${label}`);
}
