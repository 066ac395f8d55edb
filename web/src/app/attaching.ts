// Files of the session on their way into a message: the host has them, so a
// message only names them. Of a selection it holds the text, as files change.

import type { MessageAttachment, URI } from "../protocol/types";
import { selectionOf } from "../state/attachments";
import { nameOf } from "../protocol/uri";
import type { Host } from "./host";

export function attachResource({ store }: Host, chat: URI, uri: URI, isDirectory: boolean): void {
  attach(store, chat, { type: "resource", uri, label: nameOf(uri), displayKind: isDirectory ? "directory" : "document" });
}

export function attachSelection({ store }: Host, chat: URI, path: string, lines: readonly string[], from: number): void {
  attach(store, chat, selectionOf(path, lines, from));
}

function attach(store: Host["store"], chat: URI, one: MessageAttachment): void {
  const key = JSON.stringify(one);
  store.write(chat, (known) => (known.attachments.some((other) => JSON.stringify(other) === key) ? known : { ...known, attachments: [...known.attachments, one] }));
  // On a phone the files cover the editor.
  if (!document.querySelector("[data-composer]")?.checkVisibility()) store.notify({ tone: "info", text: `“${one.label}” is attached to your message` });
}
