// From what the store holds to what the views read. Parts that did not change
// keep their identity, so that views which read only those do not render.

import { Status } from "../protocol/types";
import type { SessionSummary, URI } from "../protocol/types";
import type { AppState, ConnectionState, Notice, UiMessage } from "./appState";
import type { Channel } from "./channel";
import type { Decisions } from "./decisions";
import { inboxOf } from "./inbox";
import type { Pace } from "./pace";
import { contextUsage, currentModel, modelsOf, selectedModel, thinkingLevel } from "./model";
import type { ChannelState } from "./reducers";
import { scheduled, timeline } from "./timeline";
import { dockedId, waitingIn } from "./waiting";

export interface Held {
  connection: ConnectionState;
  channels: ReadonlyMap<URI, Channel>;
  decisions: Decisions;
  pace: Pace;
  sessions: SessionSummary[];
  sessionsLoaded: boolean;
  currentSessionId: URI | null;
  currentChatId: URI | null;
  sidebarOpen: boolean;
  drafts: AppState["drafts"];
  dockedId: string | null;
  notices: readonly Notice[];
  starting: AppState["starting"];
}

const NOTHING: UiMessage[] = [];
export const ROOT = "ahp-root://";

export function derive(held: Held, before: AppState | undefined): AppState {
  const channels = views(held.channels, before?.channels);
  const viewOf = <K extends ChannelState["kind"]>(uri: URI | null, kind: K) => stateOf(channels, uri, kind);
  const root = viewOf(ROOT, "root");
  const session = viewOf(held.currentSessionId, "session");
  const currentChatId = held.currentChatId ?? session?.defaultChat ?? session?.chats[0]?.resource ?? null;
  const chat = viewOf(currentChatId, "chat");
  const sameChat = before?.chat === chat && before?.connection.shellPrefix === held.connection.shellPrefix;
  const models = modelsOf(root, session);
  const model = chat && selectedModel(chat);
  const info = currentModel(models, chat, session);
  const waiting = waitingIn(chat, session, before?.waiting);
  const sameInbox = before?.sessions === held.sessions && before?.channels === channels;
  return {
    connected: held.connection.phase === "connected",
    connection: held.connection,
    streaming: chat !== undefined && (chat.activeTurn !== undefined || (chat.status & Status.InProgress) !== 0),
    messages: !chat ? NOTHING : sameChat ? (before?.messages ?? NOTHING) : timeline(chat, held.connection.shellPrefix),
    scheduledMessages: !chat ? NOTHING : sameChat ? (before?.scheduledMessages ?? NOTHING) : keep(before?.scheduledMessages, scheduled(chat)),
    sessions: held.sessions,
    sessionsLoaded: held.sessionsLoaded,
    currentSessionId: held.currentSessionId,
    currentChatId,
    sidebarOpen: held.sidebarOpen,
    contextUsage: chat && contextUsage(chat, models),
    thinkingLevel: thinkingLevel(model, info),
    model,
    root,
    session,
    chat,
    inbox: sameInbox && before ? before.inbox : inboxOf(held.sessions, (uri) => viewOf(uri, "session")),
    waiting,
    dockedId: dockedId(waiting, held.dockedId, before?.dockedId ?? null),
    unsent: unsentIn(held, currentChatId, before?.unsent),
    drafts: held.drafts,
    decisions: held.decisions,
    pace: held.pace,
    notices: held.notices,
    starting: held.starting,
    channels,
  };
}

type StateOf<K extends ChannelState["kind"]> = Extract<ChannelState, { kind: K }>["state"];

/** The state of a channel, if it is open and of that kind. */
export function stateOf<K extends ChannelState["kind"]>(
  channels: ReadonlyMap<URI, ChannelState>,
  uri: URI | null | undefined,
  kind: K,
): StateOf<K> | undefined {
  const view = uri == null ? undefined : channels.get(uri);
  return (view?.kind === kind ? view.state : undefined) as StateOf<K> | undefined;
}

function views(
  channels: ReadonlyMap<URI, Channel>,
  before: ReadonlyMap<URI, ChannelState> | undefined,
): ReadonlyMap<URI, ChannelState> {
  let same = before?.size === channels.size;
  const next = new Map<URI, ChannelState>();
  for (const [uri, { view }] of channels) {
    next.set(uri, view);
    same &&= before?.get(uri) === view;
  }
  return same && before ? before : next;
}

const NOT_ONE: readonly string[] = [];

/** While there is a connection, what is on its way is as good as sent. */
function unsentIn({ connection, channels }: Held, chat: URI | null, before: readonly string[] = NOT_ONE): readonly string[] {
  const pending = connection.phase === "connected" || !chat ? [] : (channels.get(chat)?.pending ?? []);
  const ids = pending.flatMap(({ action }) => {
    if (action.type === "chat/turnStarted") return [action.turnId];
    return action.type === "chat/pendingMessageSet" ? [action.id] : [];
  });
  return ids.length === before.length && ids.every((id, index) => id === before[index]) ? before : ids;
}

/** An empty list stays the same empty list. */
function keep(before: UiMessage[] | undefined, next: UiMessage[]): UiMessage[] {
  return before?.length === 0 && next.length === 0 ? before : next;
}
