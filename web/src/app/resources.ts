// Files and other content that lives on the host.

import type { MessageAttachment, URI } from "../protocol/types";
import type { Host } from "./host";

export interface Content {
  text: string;
  base64?: string;
  contentType?: string;
}

interface ReadResult {
  data: string;
  encoding: "utf-8" | "base64";
  contentType?: string;
}

/** What never changes under its name is read once. */
const cache = new Map<URI, Promise<Content>>();

export function read(host: Host, uri: URI, encoding: "utf-8" | "base64" = "utf-8"): Promise<Content> {
  const isFixed = !uri.startsWith("file:");
  const key = `${encoding}:${uri}`;
  const known = isFixed ? cache.get(key) : undefined;
  if (known) return known;
  const reading = host.connection
    .request<ReadResult>("resourceRead", { channel: "ahp-root://", uri, encoding })
    .then(decoded);
  if (isFixed) {
    cache.set(key, reading);
    reading.catch(() => cache.delete(key));
    if (cache.size > 200) cache.delete(cache.keys().next().value ?? "");
  }
  return reading;
}

function decoded({ data, encoding, contentType }: ReadResult): Content {
  if (encoding !== "base64") return { text: data, contentType };
  const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
  return { text: new TextDecoder().decode(bytes), base64: data, contentType };
}

export interface Entry {
  name: string;
  type: string;
}

export async function list(host: Host, uri: URI): Promise<Entry[]> {
  const params = { channel: "ahp-root://", uri };
  const { entries } = await host.connection.request<{ entries: Entry[] }>("resourceList", params);
  return entries;
}

export interface Completion {
  insertText: string;
  rangeStart?: number;
  rangeEnd?: number;
  attachment: MessageAttachment;
}

export async function complete(host: Host, chat: URI, text: string, offset: number): Promise<Completion[]> {
  const params = { channel: chat, kind: "userMessage", text, offset };
  const result = await host.connection.request<{ items: Completion[] }>("completions", params).catch(() => undefined);
  return result?.items ?? [];
}
