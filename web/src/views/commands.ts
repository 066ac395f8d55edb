// Everything that can be done by a button, as a command with a name.

import { useMemo } from "react";
import { go, hrefOf } from "../app/address";
import { choose, stop } from "../app/chat";
import { newChat } from "../app/chats";
import { useApp, useHost, useRoute } from "../app/context";
import type { Host } from "../app/host";
import { pin, usePinned } from "../app/listing";
import { canNotify, notificationsOn, setNotifications } from "../app/notifications";
import { archive, configure, forkSession, markRead, remove } from "../app/sessions";
import { setHostSetting, setTheme } from "../app/settings";
import { toggleSidebar } from "../app/sidebar";
import { copyText } from "../lib/clipboard";
import { Status } from "../protocol/types";
import type { Route } from "../app/address";
import type { AppState } from "../state/appState";
import { attemptOf } from "../state/attempts";
import { abilitiesIn } from "../state/chats";
import { canForkIn, modelsOf } from "../state/model";
import { changeable, choicesOf } from "../state/sessionSettings";
import { askToRename } from "./renaming";
import { foldAll } from "./timeline/folds";
import { findHere } from "./timeline/finding";
import type { IconName } from "./ui/Icon";

export interface Command {
  id: string;
  label: string;
  icon: IconName;
  keys?: string;
  section: string;
  run: () => void;
}

export function useCommands(onKeys: () => void): Command[] {
  const host = useHost();
  const route = useRoute();
  const session = useApp((state) => state.session);
  const chat = useApp((state) => state.chat);
  const root = useApp((state) => state.root);
  const pinned = usePinned();
  return useMemo(() => {
    const state = host.store.getState();
    const here = route.view === "session" && session ? sessionCommands(host, route, { ...state, session, chat, root }, pinned) : [];
    return [...here, ...generalCommands(host, onKeys)];
  }, [host, route, session, chat, root, pinned, onKeys]);
}

function generalCommands(host: Host, onKeys: () => void): Command[] {
  const section = "Commands";
  const areOn = notificationsOn();
  return [
    { id: "new", label: "New session", icon: "add", keys: "N", section, run: () => go({ view: "start" }) },
    { id: "new-form", label: "New session with all options", icon: "sliders", section, run: () => go({ view: "new" }) },
    { id: "attempts", label: "New session in several attempts", icon: "fork", section, run: () => go({ view: "start", attempts: 2 }) },
    { id: "inbox", label: "Open inbox", icon: "inbox", keys: "I", section, run: () => go({ view: "inbox" }) },
    { id: "search", label: "Search in all sessions", icon: "search", section, run: () => go({ view: "search" }) },
    { id: "automations", label: "Automations", icon: "clock", section, run: () => go({ view: "automations" }) },
    { id: "settings", label: "Settings", icon: "settings", section, run: () => go({ view: "settings" }) },
    { id: "sidebar", label: "Show or hide the sidebar", icon: "menu", keys: "Ctrl B", section, run: () => toggleSidebar(host) },
    { id: "keys", label: "Keyboard shortcuts", icon: "keyboard", keys: "?", section, run: onKeys },
    ...(canNotify() ? [{ id: "notify", label: areOn ? "Turn off notifications" : "Turn on notifications", icon: "bell" as const, section, run: () => void setNotifications(!areOn) }] : []),
    { id: "light", label: "Appearance: light", icon: "sun", section, run: () => setTheme(host, "light") },
    { id: "dark", label: "Appearance: dark", icon: "moon", section, run: () => setTheme(host, "dark") },
    { id: "system", label: "Appearance: as the system", icon: "settings", section, run: () => setTheme(host, "system") },
    { id: "unified", label: "Diffs: unified", icon: "diff", section, run: () => setHostSetting(host, "diffView", "unified") },
    { id: "split", label: "Diffs: side by side", icon: "diff", section, run: () => setHostSetting(host, "diffView", "split") },
    { id: "connect", label: "Connect to another host", icon: "plug", section, run: () => go({ view: "connect" }) },
  ];
}

type Here = Pick<AppState, "root" | "chat" | "currentChatId"> & { session: NonNullable<AppState["session"]> };

function sessionCommands(host: Host, route: Extract<Route, { view: "session" }>, state: Here, pinned: ReadonlySet<string>): Command[] {
  const section = "This session";
  const { session: uri } = route;
  const { session, chat, currentChatId } = state;
  const isArchived = (session.status & Status.IsArchived) !== 0;
  const isPinned = pinned.has(uri);
  const attempt = attemptOf(session);
  const turn = chat?.activeTurn?.id;
  const lastTurn = canForkIn(state) && currentChatId === session.defaultChat ? chat?.turns.at(-1)?.id : undefined;
  const open = (created: Promise<string | undefined>, to: (uri: string) => Route) => void created.then((made) => made && go(to(made)));
  const commands: (Command | false | undefined)[] = [
    !!turn && !!currentChatId && { id: "stop", label: "Stop the running turn", icon: "stop", keys: "Esc", section, run: () => stop(host, currentChatId, turn) },
    { id: "changes", label: "Show changes", icon: "diff", section, run: () => go({ ...route, pane: "changes" }) },
    { id: "terminals", label: "Show terminals", icon: "terminal", section, run: () => go({ ...route, pane: "terminals" }) },
    { id: "files", label: "Show files", icon: "folder", section, run: () => go({ ...route, pane: "files", turn: undefined }) },
    { id: "find", label: "Find in this conversation", icon: "search", keys: "Ctrl F", section, run: () => void setTimeout(findHere) },
    { id: "details", label: "Session details and settings", icon: "settings", section, run: () => go({ ...route, pane: "details" }) },
    !!attempt && { id: "compare", label: "Compare the attempts", icon: "fork", section, run: () => go({ view: "attempts", id: attempt.id }) },
    !!route.pane && { id: "close-pane", label: "Close the pane", icon: "close", section, run: () => go({ ...route, pane: undefined }) },
    { id: "fold", label: "Fold or unfold all turns", icon: "fold", keys: "F", section, run: foldAll },
    { id: "rename", label: "Rename this session…", icon: "edit", section, run: () => askToRename() },
    { id: "pin", label: isPinned ? "Unpin this session" : "Pin this session", icon: isPinned ? "unpin" : "pin", section, run: () => pin([uri], !isPinned) },
    !!abilitiesIn(state).multipleChats && { id: "chat", label: "New chat in this session", icon: "chat", section, run: () => open(newChat(host, uri), (made) => ({ ...route, chat: made })) },
    !!lastTurn && { id: "fork", label: "Fork into a new session", icon: "fork", section, run: () => open(forkSession(host, uri, lastTurn), (made) => ({ view: "session", session: made, chat: null })) },
    { id: "export", label: "Export this session as HTML", icon: "download", section, run: () => void import("../app/export").then(({ exportSession }) => exportSession(host)) },
    { id: "link", label: "Copy a link to this session", icon: "link", section, run: () => void copyText(new URL(hrefOf(route), location.href).href) },
    { id: "unread", label: "Mark as unread and leave", icon: "unread", section, run: () => leaveUnread(host, uri) },
    { id: "archive", label: isArchived ? "Unarchive this session" : "Archive this session", icon: "archive", section, run: () => archive(host, uri, !isArchived) },
    { id: "delete", label: "Delete this session", icon: "trash", section, run: () => remove(host, { resource: uri, title: session.title }) },
    ...settingCommands(host, uri, session),
    ...(currentChatId ? modelsOf(state.root, session).map((model): Command => ({ id: `model:${model.id}`, label: `Model: ${model.name || model.id}`, icon: "model", section, run: () => choose(host, currentChatId, { model: { id: model.id } }) })) : []),
  ];
  return commands.filter((command): command is Command => !!command);
}

/** Each value of what can be changed at the editor. */
function settingCommands(host: Host, uri: string, session: Here["session"]): Command[] {
  return ["mode", "autoApprove"].flatMap((key) => {
    const property = changeable(session, key);
    if (!property) return [];
    return choicesOf(property).map(({ value, label }) => ({
      id: `${key}:${String(value)}`,
      label: `${property.title}: ${label}`,
      icon: key === "mode" ? ("sparkle" as const) : ("shield" as const),
      section: "This session",
      run: () => configure(host, uri, { [key]: value }),
    }));
  });
}

/** What is on the screen counts as read: so one has to leave it. */
function leaveUnread(host: Host, session: string): void {
  go({ view: "home" });
  markRead(host, session, false);
}
