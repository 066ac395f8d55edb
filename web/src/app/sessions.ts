// What a person does with whole sessions.

import { count } from "../lib/text";
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
  /** What else is said about it. */
  meta?: JsonObject;
}

export async function createSession(host: Host, { provider, directory, config, meta }: NewSession): Promise<URI> {
  const channel = newSessionUri();
  const params = {
    channel,
    progressToken: channel,
    provider,
    ...(directory ? { workingDirectories: [directory] } : {}),
    ...(config && Object.keys(config).length ? { config } : {}),
    activeClient: thisClient(host),
    ...(meta ? { _meta: meta } : {}),
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

type Named = Pick<SessionSummary, "resource" | "title">;

/** Deletes sessions, after a moment in which that can be taken back. */
export function remove(host: Host, ...sessions: Named[]): void {
  const { store } = host;
  const hide = (isHidden: boolean) => {
    for (const { resource } of sessions) store.hideSession(resource, isHidden);
  };
  hide(true);
  if (sessions.some(({ resource }) => store.getState().currentSessionId === resource)) location.hash = "#/";
  const dispose = () => {
    store.dismiss(notice);
    clearTimeout(timer);
    removeEventListener("pagehide", dispose);
    for (const session of sessions) void disposeSession(host, session);
  };
  const timer = setTimeout(dispose, UNDO_MS);
  // Whoever closes the page does not want to undo it.
  addEventListener("pagehide", dispose);
  const undo = () => {
    clearTimeout(timer);
    removeEventListener("pagehide", dispose);
    hide(false);
    store.dismiss(notice);
  };
  const what = sessions.length === 1 ? `“${sessions[0]?.title || "New session"}”` : count(sessions.length, "session");
  const notice = store.notify({ tone: "info", text: `Deleted ${what}`, action: { label: "Undo", run: undo } });
}

async function disposeSession(host: Host, { resource, title }: Named): Promise<void> {
  try {
    await host.connection.persist("disposeSession", { channel: resource });
  } catch (error) {
    host.store.hideSession(resource, false);
    host.store.notify({ tone: "error", text: `“${title || "New session"}” was not deleted: ${messageOf(error)}` });
  }
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
