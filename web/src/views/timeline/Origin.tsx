// Where a chat comes from, said at its top, with the way back.

import { hrefOf } from "../../app/address";
import { undo } from "../../app/checkpoints";
import { useApp, useHost } from "../../app/context";
import type { ChatOrigin } from "../../protocol/types";
import { isKept } from "../../state/checkpoints";
import { chatTitle } from "../../state/chats";
import { Icon } from "../ui/Icon";

const WORDS: Record<Exclude<ChatOrigin["kind"], "user">, string> = {
  tool: "Sub-agent",
  fork: "Fork",
  sideChat: "Side chat",
};

export function Origin() {
  const host = useHost();
  const session = useApp((state) => state.currentSessionId);
  const chat = useApp((state) => state.chat);
  const chats = useApp((state) => state.session?.chats);
  const main = useApp((state) => state.session?.defaultChat);
  const origin = chat?.origin;
  if (!session || !chat || !origin || origin.kind === "user") return null;
  const parent = chats?.find(({ resource }) => resource === origin.chat);
  const isMain = origin.chat === main;
  const title = isMain ? "the main chat" : parent?.title ? `“${parent.title}”` : "where it began";
  return (
    <nav className="origin" aria-label="Where this chat comes from">
      <a className="link-button" href={hrefOf({ view: "session", session, chat: isMain ? null : origin.chat })}>
        <Icon name="back" /> Back to {title}
      </a>
      <span className="badge">{isKept(chat) ? "Kept from before" : WORDS[origin.kind]}</span>
      <strong>{chatTitle(chats ?? [], chat)}</strong>
      {isKept(chat) && (
        <button type="button" className="button" title="Makes this the conversation again, with the files that belonged to it" onClick={() => void undo(host, session, chat.resource)}>
          <Icon name="undo" /> Return to this
        </button>
      )}
    </nav>
  );
}
