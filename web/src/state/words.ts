// What a person has put together: text with what is attached to it. Joining
// never drops anything, and what is joined twice stands there once.

import type { Message, MessageAttachment } from "../protocol/types";

export interface Words {
  text: string;
  attachments: readonly MessageAttachment[];
}

export const NO_WORDS: Words = { text: "", attachments: [] };

export function wordsOf({ text, attachments }: Pick<Message, "text" | "attachments">): Words {
  return { text, attachments: attachments ?? [] };
}

export function isEmpty({ text, attachments }: Words): boolean {
  return text.trim() === "" && attachments.length === 0;
}

export function sameWords(a: Words, b: Words): boolean {
  return a.text === b.text && a.attachments.length === b.attachments.length && a.attachments.every((one) => isAmong(one, b));
}

/** Both, the one after the other with a blank line between. */
export function joinWords(...all: readonly Words[]): Words {
  const text = all.map((words) => words.text).filter((words) => words.trim() !== "").join("\n\n");
  const attachments: MessageAttachment[] = [];
  for (const attachment of all.flatMap((words) => words.attachments)) {
    if (!attachments.some((known) => isTheSame(known, attachment))) attachments.push(attachment);
  }
  return { text, attachments };
}

/** Whether no word and no attachment of `part` is missing in `whole`. */
export function holds(whole: Words, part: Words): boolean {
  return holdsText(whole.text, part.text) && part.attachments.every((one) => isAmong(one, whole));
}

/** The text as a whole, not as a piece of other words. */
function holdsText(whole: string, part: string): boolean {
  const wanted = part.trim();
  if (wanted === "") return true;
  for (let at = whole.indexOf(wanted); at >= 0; at = whole.indexOf(wanted, at + 1)) {
    const end = at + wanted.length;
    const cutsBefore = isLetter(whole[at - 1]) && isLetter(wanted[0]);
    const cutsAfter = isLetter(whole[end]) && isLetter(wanted.at(-1));
    if (!cutsBefore && !cutsAfter) return true;
  }
  return false;
}

function isLetter(char: string | undefined): boolean {
  return char !== undefined && /[\p{L}\p{N}_]/u.test(char);
}

function isAmong(attachment: MessageAttachment, { attachments }: Pick<Words, "attachments">): boolean {
  return attachments.some((known) => isTheSame(known, attachment) || isStandIn(known, attachment) || isStandIn(attachment, known));
}

function isTheSame(a: MessageAttachment, b: MessageAttachment): boolean {
  if (a === b) return true;
  if (a.label !== b.label || a.type !== b.type) return false;
  if (a.type === "embeddedResource" && b.type === "embeddedResource") return a.data === b.data;
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The host keeps large ones itself and leaves a reference in their place. */
function isStandIn(reference: MessageAttachment, attachment: MessageAttachment): boolean {
  return isKept(reference) && attachment.type === "embeddedResource" && reference.label === attachment.label;
}

function isKept(attachment: MessageAttachment): boolean {
  return attachment.type === "resource" && !/^(file|virtual):/.test(attachment.uri);
}

/** Roughly what the words take on the wire. */
export function weightOf({ text, attachments }: Words): number {
  return text.length + attachments.reduce((sum, one) => sum + attachmentWeight(one), 0);
}

export function attachmentWeight(attachment: MessageAttachment): number {
  return (attachment.type === "embeddedResource" ? attachment.data.length : 0) + 256;
}
