// What can be done with the chats of a session, in a menu.

import { useState } from "react";
import { go } from "../app/address";
import type { Route } from "../app/address";
import { archiveChat, disposeChat, makeDefaultChat, markChatRead, moveChat, newChat, sideChat } from "../app/chats";
import { useApp, useHost } from "../app/context";
import { Status } from "../protocol/types";
import type { ChatState, SessionState, URI } from "../protocol/types";
import { abilitiesIn, chatTitle, placeAfter } from "../state/chats";
import { MoveChat } from "./MoveChat";
import { Dialog } from "./ui/Dialog";
import { Icon } from "./ui/Icon";
import { Menu } from "./ui/Menu";
import type { MenuItem } from "./ui/Menu";

interface Props {
  route: Extract<Route, { view: "session" }>;
  session: SessionState;
  chat: ChatState;
}

export function ChatActions({ route, session, chat }: Props) {
  const host = useHost();
  const [isAsking, setAsking] = useState(false);
  const [isMoving, setMoving] = useState(false);
  const several = useApp((state) => abilitiesIn(state).multipleChats);
  const { resource, status } = chat;
  const isDefault = resource === session.defaultChat;
  const isReadOnly = chat.interactivity !== undefined && chat.interactivity !== "full";
  const isMain = session.chats.length < 2;
  const lastTurn = chat.activeTurn?.id ?? chat.turns.at(-1)?.id;
  const isRead = (status & Status.IsRead) !== 0;
  const isArchived = (status & Status.IsArchived) !== 0;
  const enter = (created: Promise<URI | undefined>) =>
    void created.then((uri) => {
      if (uri) go({ ...route, chat: uri });
    });
  const remove = () =>
    void disposeChat(host, resource).then((isGone) => {
      setAsking(false);
      if (isGone) go({ ...route, chat: null });
    });
  const move = (label: string, by: -1 | 1): MenuItem[] =>
    placeAfter(session.chats, resource, by)
      ? [{ label, run: () => void moveChat(host, route.session, session.chats, resource, by) }]
      : [];
  const items: MenuItem[] = [
    ...(several ? [{ label: "New chat", icon: "add" as const, run: () => enter(newChat(host, route.session)) }] : []),
    ...(several?.sideChat && lastTurn
      ? [{ label: "Ask on the side", icon: "question" as const, run: () => enter(sideChat(host, route.session, resource, lastTurn)) }]
      : []),
    ...move("Move chat up", -1),
    ...move("Move chat down", 1),
    ...(isDefault || isReadOnly
      ? []
      : [{ label: "Make this the main chat", icon: "pin" as const, run: () => makeDefaultChat(host, route.session, resource) }]),
    ...(chat.movable ? [{ label: "Move to session…", run: () => setMoving(true) }] : []),
    ...(isMain
      ? []
      : [
          { label: isRead ? "Mark chat as unread" : "Mark chat as read", icon: "check" as const, run: () => markChatRead(host, resource, !isRead) },
          { label: isArchived ? "Unarchive chat" : "Archive chat", icon: "archive" as const, run: () => archiveChat(host, resource, !isArchived) },
        ]),
    ...(isDefault ? [] : [{ label: "Delete chat", icon: "trash" as const, isDangerous: true, run: () => setAsking(true) }]),
  ];
  if (items.length === 0) return null;
  return (
    <>
      <Menu label="Chat actions" items={items}>
        <Icon name="add" />
      </Menu>
      {isMoving && <MoveChat route={route} session={session} chat={chat} onClose={() => setMoving(false)} />}
      {isAsking && (
        <Dialog label="Delete chat" onClose={() => setAsking(false)}>
          <p>Delete “{chatTitle(session.chats, chat)}” with everything that was said in it? This cannot be undone.</p>
          <div className="button-row">
            <button type="button" className="button danger" onClick={remove}>
              Delete chat
            </button>
            <button type="button" className="button" onClick={() => setAsking(false)}>
              Cancel
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
