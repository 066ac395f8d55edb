// Files and other content that lives on the host.

import { ErrorCode, RpcError } from "../protocol/rpc";
import type { URI } from "../protocol/types";
import type { Suggestion } from "../state/attachments";
import { copyOf } from "../state/files";
import type { Host } from "./host";

const CHANNEL = "ahp-root://";

/**
 * Asks for something of the host's files. Where that is not open yet, the
 * host says what to request; it is requested, and asked for once more.
 */
async function ask<T>(host: Host, method: string, params: object): Promise<T> {
  const asked = { channel: CHANNEL, ...params };
  try {
    return await host.connection.request<T>(method, asked);
  } catch (error) {
    const missing = missingAccess(error);
    if (!missing) throw error;
    await host.connection.request("resourceRequest", { channel: CHANNEL, ...missing });
    return host.connection.request<T>(method, asked);
  }
}

function missingAccess(error: unknown): object | undefined {
  if (!(error instanceof RpcError) || error.code !== ErrorCode.PermissionDenied) return undefined;
  return (error.data as { request?: object } | undefined)?.request;
}

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
  const params = { uri, encoding };
  const reading = ask<ReadResult>(host, "resourceRead", params).then(decoded);
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
  const { entries } = await ask<{ entries: Entry[] }>(host, "resourceList", { uri });
  return entries;
}

export interface About {
  size?: number;
  mtime?: string;
}

/** What the host knows about a file without reading it. */
export function about(host: Host, uri: URI): Promise<About> {
  return ask<About>(host, "resourceResolve", { uri });
}

export async function makeFolder(host: Host, uri: URI): Promise<void> {
  await ask(host, "resourceMkdir", { uri });
}

/** Nothing that is there already is written over. */
export async function move(host: Host, source: URI, destination: URI): Promise<void> {
  await ask(host, "resourceMove", { source, destination, failIfExists: true });
}

/** Copies a file next to itself, under the first name that is free. Returns where it is. */
export async function duplicate(host: Host, source: URI): Promise<URI> {
  for (let number = 1; ; number++) {
    const destination = copyOf(source, number);
    try {
      await ask(host, "resourceCopy", { source, destination, failIfExists: true });
      return destination;
    } catch (error) {
      const isTaken = error instanceof RpcError && error.code === ErrorCode.AlreadyExists;
      if (!isTaken || number >= MOST_COPIES) throw error;
    }
  }
}

const MOST_COPIES = 20;

/** A file, or a directory that is empty. */
export async function removeFile(host: Host, uri: URI): Promise<void> {
  await ask(host, "resourceDelete", { uri });
}

export async function complete(host: Host, chat: URI, text: string, offset: number): Promise<Suggestion[]> {
  const params = { channel: chat, kind: "userMessage", text, offset };
  const result = await host.connection.request<{ items: Suggestion[] }>("completions", params).catch(() => undefined);
  return result?.items ?? [];
}
