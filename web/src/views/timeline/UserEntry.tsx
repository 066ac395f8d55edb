import { useApp, useHost } from "../../app/context";
import type { UiMessage } from "../../state/appState";
import { clock } from "../../lib/time";
import { Attachments } from "./Attachments";

export function UserEntry({ message, chat }: { message: UiMessage; chat: string }) {
  const { store } = useHost();
  const author = useApp((state) => state.decisions.get(`${message.turnId}:chat/turnStarted`));
  const name = useApp((state) => state.session?.activeClients.find(({ clientId }) => clientId === author)?.displayName);
  const isElsewhere = author !== undefined && author !== store.clientId;
  return (
    <div className="user-message" data-chat={chat}>
      <div className="user-bubble">
        <Attachments message={message} />
        {message.text}
      </div>
      <div className="user-meta">
        {isElsewhere && <span>{name ?? "Another client"}</span>}
        <time dateTime={message.turn?.startedAt}>{clock(message.turn?.startedAt)}</time>
      </div>
    </div>
  );
}
