// What is attached to a message: what a suggestion brings along, and how it is
// shown.

import { firstLine } from "../lib/text";
import type { MessageAttachment } from "../protocol/types";

/** A suggestion of the host for what is being typed. */
export interface Suggestion {
  insertText: string;
  rangeStart?: number;
  rangeEnd?: number;
  attachment?: MessageAttachment;
}

/** What the text becomes when a suggestion is accepted: it takes the place of the word that was typed. */
export function accepted({ insertText, rangeStart, rangeEnd }: Suggestion, text: string, typed: { start: number; offset: number }): string {
  const before = text.slice(0, rangeStart ?? typed.start) + insertText;
  return `${before}${/\s$/.test(before) ? "" : " "}${text.slice(rangeEnd ?? typed.offset)}`;
}

/** A command or the like that stands in the text already: it needs no place of its own. */
export function standsIn(text: string, { type, label }: MessageAttachment): boolean {
  return type === "simple" && text.includes(label);
}

/** What goes along with a message: all but what was typed over since it was accepted. */
export function goingAlong(attachments: readonly MessageAttachment[], text: string): MessageAttachment[] {
  return attachments.filter((attachment) => attachment.type !== "simple" || standsIn(text, attachment));
}

const ICONS = { image: "image", document: "file", symbol: "tool", directory: "folder", selection: "edit", command: "terminal" } as const;

/** The icon for a kind of attachment; one that nobody knows is shown as a file. */
export function iconOf({ displayKind }: Pick<MessageAttachment, "displayKind">) {
  return Object.hasOwn(ICONS, displayKind ?? "") ? ICONS[displayKind as keyof typeof ICONS] : "file";
}

/** What a suggestion is called, what it takes, and what it does, as far as the host knows. */
export function aboutSuggestion({ insertText, attachment }: Suggestion) {
  const { description, argumentHint: hint } = attachment?._meta ?? {};
  return {
    name: attachment?.label || insertText,
    hint: typeof hint === "string" ? hint : undefined,
    about: typeof description === "string" && description ? firstLine(description) : undefined,
    icon: attachment ? iconOf(attachment) : ("file" as const),
  };
}

/** Lines of a file, as they are now: the file may be another one when the agent looks. */
export function selectionOf(path: string, lines: readonly string[], from: number): MessageAttachment {
  const to = from + lines.length - 1;
  const bytes = new TextEncoder().encode(`${lines.join("\n")}\n`);
  const data = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return { type: "embeddedResource", label: `${path}:${from === to ? from : `${from}-${to}`}`, contentType: "text/plain", data, displayKind: "selection" };
}
