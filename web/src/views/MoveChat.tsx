// Asks where a chat is to go: to another session, or to one of its own.

import { go } from "../app/address";
import type { Route } from "../app/address";
import { moveChatTo } from "../app/chats";
import { useApp, useHost } from "../app/context";
import type { ChatState, SessionState, URI } from "../protocol/types";
import { chatTitle, sessionsThatFit } from "../state/chats";
import { Dialog } from "./ui/Dialog";

interface Props {
  route: Extract<Route, { view: "session" }>;
  session: SessionState;
  chat: ChatState;
  onClose: () => void;
}

export function MoveChat({ route, session, chat, onClose }: Props) {
  const host = useHost();
  const sessions = useApp((state) => state.sessions);
  const fitting = sessionsThatFit({ session, sessions }, route.session);
  const move = (to?: URI) =>
    void moveChatTo(host, chat.resource, to).then((now) => {
      onClose();
      if (now) go({ ...route, session: now, chat: chat.resource });
    });
  return (
    <Dialog label="Move to session" onClose={onClose}>
      <p>Where should “{chatTitle(session.chats, chat)}” go? Sessions with the same agent and directories are listed.</p>
      <ul className="directories" aria-label="Sessions">
        {fitting.map(({ resource, title }) => (
          <li key={resource}>
            <button type="button" className="button" onClick={() => move(resource)}>
              {title || "Session"}
            </button>
          </li>
        ))}
      </ul>
      <div className="button-row">
        <button type="button" className="button primary" onClick={() => move()}>
          New session
        </button>
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
