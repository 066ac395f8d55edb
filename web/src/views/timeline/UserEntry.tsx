import { useApp, useHost } from "../../app/context";
import type { UiMessage } from "../../state/appState";
import { keyOfEntry } from "../../state/decisions";
import { clock } from "../../lib/time";
import { Attachments } from "./Attachments";

export function UserEntry({ message, chat }: { message: UiMessage; chat: string }) {
  const { store } = useHost();
  const { steeringId } = message;
  const key = keyOfEntry(chat, message);
  const author = useApp((state) => state.decisions.get(key));
  const name = useApp((state) => state.session?.activeClients.find(({ clientId }) => clientId === author)?.displayName);
  const isUnsent = useApp((state) => message.turnId !== undefined && state.unsent.includes(message.turnId));
  const isElsewhere = author !== undefined && author !== store.clientId;
  return (
    <div className={steeringId === undefined ? "user-message" : "user-message steered"} data-chat={chat}>
      <div className="user-bubble">
        <Attachments message={message} />
        {message.text}
      </div>
      <div className="user-meta">
        {steeringId !== undefined && <span>{isElsewhere ? (name ?? "Another client") : "You"}, while it worked</span>}
        {steeringId === undefined && isElsewhere && <span>{name ?? "Another client"}</span>}
        {isUnsent && message.turn && <span className="unsent">Not sent yet</span>}
        {message.turn && <time dateTime={message.turn.startedAt}>{clock(message.turn.startedAt)}</time>}
      </div>
    </div>
  );
}
