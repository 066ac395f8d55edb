// What a person does with whole sessions.

import { ErrorCode, RpcError } from "../protocol/rpc";
import type { ConfigState, JsonObject, SessionSummary, URI } from "../protocol/types";
import { newChatUri, newSessionUri } from "../protocol/uri";
import type { Host } from "./host";
import { describeThisClient } from "./client";

/** How long a deletion can be undone. */
const UNDO_MS = 7_000;

export interface NewSession {
  provider?: string;
  directory?: URI;
  config?: JsonObject;
}

export async function createSession(host: Host, { provider, directory, config }: NewSession): Promise<URI> {
  const channel = newSessionUri();
  const params = {
    channel,
    progressToken: channel,
    provider,
    ...(directory ? { workingDirectories: [directory] } : {}),
    ...(config && Object.keys(config).length ? { config } : {}),
    activeClient: thisClient(host),
  };
  try {
    await host.connection.persist("createSession", params);
  } catch (error) {
    // Asked twice because the first answer was lost.
    const exists = error instanceof RpcError && error.code === ErrorCode.SessionAlreadyExists;
    if (!exists) throw error;
  }
  await host.open(channel);
  return channel;
}

export function resolveConfig(host: Host, { provider, directory, config }: NewSession): Promise<ConfigState> {
  const params = { channel: "ahp-root://", provider, workingDirectory: directory, config };
  return host.connection.request<ConfigState>("resolveSessionConfig", params);
}

export async function completeConfig(
  host: Host,
  session: NewSession,
  property: string,
  query: string,
): Promise<{ value: string; label: string; description?: string }[]> {
  const { provider, directory: workingDirectory, config } = session;
  const params = { channel: "ahp-root://", provider, workingDirectory, config, property, query };
  type Result = { items: { value: string; label: string; description?: string }[] };
  const result = await host.connection.request<Result>("sessionConfigCompletions", params).catch(() => undefined);
  return result?.items ?? [];
}

function thisClient(host: Host) {
  return { clientId: host.store.clientId, displayName: describeThisClient(), tools: [] };
}

/** Tells the others on the session who is here. */
export function joinSession(host: Host, session: URI): void {
  host.store.dispatch(session, { type: "session/activeClientSet", activeClient: thisClient(host) });
}

export function rename({ store }: Host, session: URI, title: string): void {
  if (title.trim()) store.dispatch(session, { type: "session/titleChanged", title: title.trim() });
}

export function archive({ store }: Host, session: URI, isArchived: boolean): void {
  store.dispatch(session, { type: "session/isArchivedChanged", isArchived });
}

export function markRead({ store }: Host, session: URI, isRead: boolean): void {
  store.dispatch(session, { type: "session/isReadChanged", isRead });
}

export function configure({ store }: Host, session: URI, config: JsonObject): void {
  store.dispatch(session, { type: "session/configChanged", config });
}

/** Deletes a session, after a moment in which that can be taken back. */
export function remove(host: Host, { resource, title }: Pick<SessionSummary, "resource" | "title">): void {
  const { store } = host;
  store.hideSession(resource, true);
  if (store.getState().currentSessionId === resource) location.hash = "#/";
  const dispose = async () => {
    store.dismiss(notice);
    clearTimeout(timer);
    removeEventListener("pagehide", leave);
    try {
      await host.connection.persist("disposeSession", { channel: resource });
    } catch (error) {
      store.hideSession(resource, false);
      store.notify({ tone: "error", text: `“${title}” was not deleted: ${messageOf(error)}` });
    }
  };
  const timer = setTimeout(() => void dispose(), UNDO_MS);
  // Whoever closes the page does not want to undo it.
  const leave = () => void dispose();
  addEventListener("pagehide", leave);
  const undo = () => {
    clearTimeout(timer);
    removeEventListener("pagehide", leave);
    store.hideSession(resource, false);
    store.dismiss(notice);
  };
  const notice = store.notify({ tone: "info", text: `Deleted “${title}”`, action: { label: "Undo", run: undo } });
}

/** A new chat with the history up to a turn. */
export async function fork(host: Host, session: URI, chat: URI, turnId: string): Promise<URI | undefined> {
  const uri = newChatUri();
  const params = { channel: session, chat: uri, source: { kind: "fork", chat, turnId } };
  try {
    await host.connection.persist("createChat", params);
    return uri;
  } catch (error) {
    host.store.notify({ tone: "error", text: `The chat was not forked: ${messageOf(error)}` });
    return undefined;
  }
}

/** A new session with the history of another, up to a turn of its main chat. */
export async function forkSession(host: Host, session: URI, turnId: string): Promise<URI | undefined> {
  const channel = newSessionUri();
  const params = { channel, progressToken: channel, fork: { session, turnId }, activeClient: thisClient(host) };
  try {
    await host.connection.persist("createSession", params);
    await host.open(channel);
    return channel;
  } catch (error) {
    host.store.notify({ tone: "error", text: `The session was not forked: ${messageOf(error)}` });
    return undefined;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
