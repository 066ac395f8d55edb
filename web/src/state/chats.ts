// What can be done with the chats and directories of a session.

import type { AgentInfo, ChatAction, ChatState, ChatSummary, SessionSummary, URI } from "../protocol/types";
import type { AppState } from "./appState";

type Known = Pick<AppState, "root" | "session">;

/** What the current session's agent can do. */
export function abilitiesIn({ root, session }: Known): NonNullable<AgentInfo["capabilities"]> {
  const agent = root?.agents.find(({ provider }) => provider === session?.provider);
  return agent?.capabilities ?? {};
}

/** Where `moveChat` puts a chat that goes one place back or forth; nothing, if it cannot. */
export function placeAfter(chats: ChatSummary[], chat: URI, by: -1 | 1): { after?: URI } | undefined {
  const at = chats.findIndex(({ resource }) => resource === chat);
  const to = at + by;
  if (at < 0 || chats[at]?.movable !== true || to < 0 || to >= chats.length) return undefined;
  const others = chats.filter((_, index) => index !== at);
  const before = others[to - 1];
  return before ? { after: before.resource } : {};
}

/** The sessions that a chat of this one can be moved to: those with the same agent in the same directories. */
export function sessionsThatFit({ session, sessions }: Pick<AppState, "session" | "sessions">, uri: URI): SessionSummary[] {
  const places = (directories: readonly URI[] | undefined) => (directories ?? []).join("\n");
  return sessions.filter(
    ({ resource, provider, workingDirectories }) =>
      resource !== uri && provider === session?.provider && places(workingDirectories) === places(session.workingDirectories),
  );
}

/** Whether a directory of a session can be removed by itself. */
export function canRemoveDirectory(known: Known, directory: URI): boolean {
  const several = abilitiesIn(known).multipleWorkingDirectories;
  const directories = known.session?.workingDirectories ?? [];
  if (!several || directories.length < 2) return false;
  const isProtected = several.immutablePrimary === true || several.primaryReplacement === true;
  return !(isProtected && directories[0] === directory);
}

/** Whether the first directory of a session can be exchanged for another one. */
export function canReplaceFirst(known: Known): boolean {
  const several = abilitiesIn(known).multipleWorkingDirectories;
  if (!several || !known.session?.workingDirectories?.length) return false;
  return several.primaryReplacement === true;
}

/**
 * What to say so that a chat works in a directory of its session, or does not.
 * A chat that names none works in all of them, so the others are named first.
 */
export function directoryActions(own: URI[] | undefined, all: URI[], directory: URI, isUsed: boolean): ChatAction[] {
  if (isUsed) return own ? [{ type: "chat/workingDirectorySet", directory }] : [];
  const others = all.filter((other) => other !== directory);
  const named: ChatAction[] = own ? [] : others.map((other) => ({ type: "chat/workingDirectorySet", directory: other }));
  return own ? [{ type: "chat/workingDirectoryRemoved", directory }] : named;
}

/** What a chat is called: its session's list says so, and the chat itself only what it was called at first. */
export function chatTitle(chats: readonly ChatSummary[], chat: ChatState): string {
  const listed = chats.find(({ resource }) => resource === chat.resource);
  return listed?.title || chat.title || "Chat";
}
