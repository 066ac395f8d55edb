import { lazy, Suspense, useState } from "react";
import { useApp, useHost } from "../../app/context";
import type { UiMessage } from "../../state/appState";
import { takenBackWith } from "../../state/checkpoints";
import { keyOfEntry } from "../../state/decisions";
import { beginningOf } from "../../lib/output";
import { hasLongWord } from "../../lib/text";
import { clock } from "../../lib/time";
import { Icon } from "../ui/Icon";
import { Attachments } from "./Attachments";
import { useChosen } from "./memory";

const TakeBackDialog = lazy(() => import("./TakeBackDialog"));

/** What is longer than this is shown on demand: people paste whole files. */
const LONG = 1_500;
const LONG_LINES = 16;

function lineLimit(text: string): number {
  let end = -1;
  for (let line = 0; line < LONG_LINES; line++) {
    end = text.indexOf("\n", end + 1);
    if (end < 0) return LONG;
  }
  return Math.min(LONG, end);
}

export function UserEntry({ message, chat }: { message: UiMessage; chat: string }) {
  const { store } = useHost();
  const { steeringId } = message;
  const key = keyOfEntry(chat, message);
  const author = useApp((state) => state.decisions.get(key));
  const name = useApp((state) => state.session?.activeClients.find(({ clientId }) => clientId === author)?.displayName);
  const isUnsent = useApp((state) => message.turnId !== undefined && state.unsent.includes(message.turnId));
  const [isOpen = false, choose] = useChosen(message.id);
  const piece = beginningOf(message.text, lineLimit(message.text));
  const isLong = piece.hidden > 0;
  const shown = isOpen ? message.text : piece.text;
  const isElsewhere = author !== undefined && author !== store.clientId;
  return (
    <div className={steeringId === undefined ? "user-message" : "user-message steered"} data-chat={chat}>
      <div className={hasLongWord(shown) ? "user-bubble unkerned" : "user-bubble"} dir="auto">
        <Attachments message={message} />
        {shown}
        {shown !== message.text && "…"}
        {isLong && (
          <button type="button" className="link-button user-more" aria-expanded={isOpen} onClick={() => choose(!isOpen)}>
            {isOpen ? "Show less" : "Show more"}
          </button>
        )}
      </div>
      <div className="user-meta">
        {steeringId !== undefined && <span>{isElsewhere ? (name ?? "Another client") : "You"}, while it worked</span>}
        {steeringId === undefined && isElsewhere && <span>{name ?? "Another client"}</span>}
        {message.turn && <EditButton chat={chat} turnId={message.turnId} />}
        {isUnsent && message.turn && <span className="unsent">Not sent yet</span>}
        {message.turn && <time dateTime={message.turn.startedAt}>{clock(message.turn.startedAt)}</time>}
      </div>
    </div>
  );
}

/** Says something else in place of an earlier message. */
function EditButton({ chat, turnId = "" }: { chat: string; turnId?: string | undefined }) {
  const said = useApp((state) => (state.currentChatId === chat ? takenBackWith(state, turnId) : undefined));
  const [isEditing, setEditing] = useState(false);
  if (!said) return null;
  return (
    <>
      <button type="button" className="icon-button small user-edit" aria-label="Edit and send again" title="Edit and send again" onClick={() => setEditing(true)}>
        <Icon name="edit" />
      </button>
      {isEditing && (
        <Suspense>
          <TakeBackDialog chat={chat} turnId={turnId} said={said} isEditing onClose={() => setEditing(false)} />
        </Suspense>
      )}
    </>
  );
}
