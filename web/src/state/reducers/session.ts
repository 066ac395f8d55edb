import { ACTIVITY_MASK, Status } from "../../protocol/types";
import type { ChatSummary, SessionAction, SessionInputRequest, SessionState, URI } from "../../protocol/types";
import { reduceCustomizations } from "./customizations";
import { replaceAt, upsert, withField, without } from "./lists";
import { withFlag } from "./status";

export function reduceSession(state: SessionState, action: SessionAction): SessionState {
  switch (action.type) {
    case "session/ready":
      return { ...state, lifecycle: "ready" };
    case "session/creationFailed":
      return { ...state, lifecycle: "failed", creationError: action.error };
    case "session/titleChanged":
      return { ...state, title: action.title };
    case "session/isReadChanged":
      return { ...state, status: withFlag(state.status, Status.IsRead, action.isRead) };
    case "session/isArchivedChanged":
      return { ...state, status: withFlag(state.status, Status.IsArchived, action.isArchived) };
    case "session/activityChanged":
      return withField(state, "activity", action.activity);
    case "session/changesetsChanged":
      return withField(state, "changesets", action.changesets);
    case "session/metaChanged":
      return withField(state, "_meta", action._meta);
    case "session/serverToolsChanged":
      return { ...state, serverTools: action.tools };
    case "session/configChanged": {
      if (!state.config) return state;
      const values = action.replace ? action.config : { ...state.config.values, ...action.config };
      return { ...state, config: { ...state.config, values } };
    }
    case "session/activeClientSet": {
      const { activeClient } = action;
      const same = (known: { clientId: string }) => known.clientId === activeClient.clientId;
      return { ...state, activeClients: upsert(state.activeClients, activeClient, same) };
    }
    case "session/activeClientRemoved": {
      const rest = without(state.activeClients, (client) => client.clientId === action.clientId);
      return rest === state.activeClients ? state : { ...state, activeClients: rest ?? [] };
    }
    case "session/chatAdded":
    case "session/chatRemoved":
    case "session/chatUpdated":
    case "session/chatsReordered":
    case "session/defaultChatChanged":
      return reduceChats(state, action);
    case "session/workingDirectorySet":
    case "session/workingDirectoryRemoved":
    case "session/workingDirectoryReplaced":
      return reduceDirectories(state, action);
    case "session/inputNeededSet":
    case "session/inputNeededRemoved":
      return reduceInputNeeded(state, action);
    default:
      return reduceCustomizations(state, action);
  }
}

type ChatsAction = Extract<
  SessionAction,
  { type: `session/chat${string}` } | { type: "session/defaultChatChanged" }
>;

function reduceChats(state: SessionState, action: ChatsAction): SessionState {
  const { chats } = state;
  switch (action.type) {
    case "session/chatAdded": {
      const same = (chat: ChatSummary) => chat.resource === action.summary.resource;
      return { ...state, chats: upsert(chats, action.summary, same) };
    }
    case "session/chatRemoved": {
      const rest = without(chats, (chat) => chat.resource === action.chat);
      if (!rest || rest === chats) return state;
      const next = { ...state, chats: rest };
      return state.defaultChat === action.chat ? withField(next, "defaultChat", undefined) : next;
    }
    case "session/chatUpdated": {
      const at = chats.findIndex((chat) => chat.resource === action.chat);
      const chat = chats[at];
      if (!chat) return state;
      return { ...state, chats: replaceAt(chats, at, { ...chat, ...updatable(action.changes) }) };
    }
    case "session/chatsReordered": {
      const byUri = new Map(chats.map((chat) => [chat.resource, chat]));
      const wanted = new Set(action.chats);
      const complete = action.chats.length === chats.length && wanted.size === chats.length;
      const reordered = action.chats.flatMap((uri) => byUri.get(uri) ?? []);
      return complete && reordered.length === chats.length ? { ...state, chats: reordered } : state;
    }
    case "session/defaultChatChanged":
      return withField(state, "defaultChat", action.defaultChat);
  }
}

/** An update never changes which chat it is, or who may write into it. */
function updatable(changes: Partial<ChatSummary>): Partial<ChatSummary> {
  const { title, status, activity, modifiedAt, changes: diff, origin, workingDirectories } = changes;
  const all = { title, status, activity, modifiedAt, changes: diff, origin, workingDirectories };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value != null));
}

type DirectoryAction = Extract<SessionAction, { type: `session/workingDirectory${string}` }>;

function reduceDirectories(state: SessionState, action: DirectoryAction): SessionState {
  const known = state.workingDirectories;
  switch (action.type) {
    case "session/workingDirectorySet":
      return { ...state, workingDirectories: withDirectory(known, action.directory) };
    case "session/workingDirectoryRemoved":
      return withField(state, "workingDirectories", withoutDirectory(known, action.directory));
    case "session/workingDirectoryReplaced": {
      const at = known?.indexOf(action.directory) ?? -1;
      if (!known || at < 0) return state;
      const { replacement } = action;
      const earlier = known.indexOf(replacement);
      if (earlier >= 0 && earlier < at) {
        return { ...state, workingDirectories: known.filter((_, index) => index !== at) };
      }
      const swapped = replaceAt(known, at, replacement);
      const next = swapped.filter((uri, index) => index === at || uri !== replacement);
      return { ...state, workingDirectories: next };
    }
  }
}

export function withDirectory(known: URI[] | undefined, directory: URI): URI[] {
  return known?.includes(directory) ? known : [...(known ?? []), directory];
}

export function withoutDirectory(known: URI[] | undefined, directory: URI): URI[] | undefined {
  return without(known, (uri) => uri === directory);
}

type InputNeededAction = Extract<SessionAction, { type: `session/inputNeeded${string}` }>;

function reduceInputNeeded(state: SessionState, action: InputNeededAction): SessionState {
  let list: SessionInputRequest[] | undefined;
  if (action.type === "session/inputNeededSet") {
    if (!action.request.id) return state;
    list = upsert(state.inputNeeded, action.request, (known) => known.id === action.request.id);
  } else {
    list = without(state.inputNeeded, (known) => known.id === action.id);
    if (list === state.inputNeeded) return state;
    if (list?.length === 0) list = undefined;
  }
  const status = statusFor(state.status, list ?? []);
  return withField({ ...state, status }, "inputNeeded", list);
}

/** Work that a client does for the agent is not a question to a person. */
function statusFor(status: number, waiting: SessionInputRequest[]): number {
  if (waiting.some((request) => request.kind !== "toolClientExecution")) {
    return (status & ~ACTIVITY_MASK) | Status.InputNeeded;
  }
  return status & ~(Status.InputNeeded & ~Status.InProgress);
}
