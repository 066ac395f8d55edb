// What a person does with the chats of a session, and with where it works.

import type { ChatState, ChatSummary, URI } from "../protocol/types";
import { newChatUri } from "../protocol/uri";
import { directoryActions, placeAfter } from "../state/chats";
import type { Host } from "./host";
import { messageOf } from "./sessions";

/** An empty chat. */
export function newChat(host: Host, session: URI): Promise<URI | undefined> {
  return create(host, { channel: session, chat: newChatUri() });
}

/** A chat that shows nothing of another one, and whose agent knows all of it up to a turn. */
export function sideChat(host: Host, session: URI, chat: URI, turnId: string): Promise<URI | undefined> {
  return create(host, { channel: session, chat: newChatUri(), source: { kind: "sideChat", chat, turnId } });
}

async function create(host: Host, params: { channel: URI; chat: URI; source?: object }): Promise<URI | undefined> {
  return (await asked(host, "createChat", params, "The chat was not created")) ? params.chat : undefined;
}

/** Returns whether the chat is gone. */
export function disposeChat(host: Host, chat: URI): Promise<boolean> {
  return asked(host, "disposeChat", { channel: chat }, "The chat was not deleted");
}

/** Moves a chat one place towards the beginning or the end. */
export function moveChat(host: Host, session: URI, chats: ChatSummary[], chat: URI, by: -1 | 1): Promise<boolean> {
  const place = placeAfter(chats, chat, by);
  if (!place) return Promise.resolve(false);
  const destination = { kind: "session", session, ...place };
  return asked(host, "moveChat", { channel: chat, destination }, "The chat was not moved");
}

/** Moves a chat to another session, or to a new one. Returns the session that it is in then. */
export async function moveChatTo(host: Host, chat: URI, session: URI | undefined): Promise<URI | undefined> {
  const destination = session ? { kind: "session", session, ...lastIn(host, session) } : { kind: "newSession" };
  try {
    const moved = await host.connection.request<{ session: URI }>("moveChat", { channel: chat, destination });
    return moved.session;
  } catch (error) {
    host.store.notify({ tone: "error", text: `The chat was not moved: ${messageOf(error)}` });
    return undefined;
  }
}

/** Behind all chats that a session is known to have. */
function lastIn({ store }: Host, session: URI): { after?: URI } {
  const chats = store.getState().sessions.find(({ resource }) => resource === session)?.chats;
  const last = chats?.at(-1);
  return last ? { after: last.resource } : {};
}

async function asked(host: Host, method: string, params: object, failure: string): Promise<boolean> {
  try {
    await host.connection.request(method, params);
    return true;
  } catch (error) {
    host.store.notify({ tone: "error", text: `${failure}: ${messageOf(error)}` });
    return false;
  }
}

export function markChatRead({ store }: Host, chat: URI, isRead: boolean): void {
  store.dispatch(chat, { type: "chat/isReadChanged", isRead });
}

export function archiveChat({ store }: Host, chat: URI, isArchived: boolean): void {
  store.dispatch(chat, { type: "chat/isArchivedChanged", isArchived });
}

/** The chat that the session opens with from now on, for everybody. */
export function makeDefaultChat({ store }: Host, session: URI, chat: URI): void {
  store.dispatch(session, { type: "session/defaultChatChanged", defaultChat: chat });
}

export function replaceDirectory({ store }: Host, session: URI, directory: URI, replacement: URI): void {
  store.dispatch(session, { type: "session/workingDirectoryReplaced", directory, replacement });
}

/** Whether the agent of a chat works in a directory of the session. */
export function setInChat({ store }: Host, chat: Pick<ChatState, "resource" | "workingDirectories">, all: URI[], directory: URI, isUsed: boolean): void {
  for (const action of directoryActions(chat.workingDirectories, all, directory, isUsed)) store.dispatch(chat.resource, action);
}

export function addDirectory({ store }: Host, session: URI, directory: URI): void {
  store.dispatch(session, { type: "session/workingDirectorySet", directory });
}

export function removeDirectory({ store }: Host, session: URI, directory: URI): void {
  store.dispatch(session, { type: "session/workingDirectoryRemoved", directory });
}
