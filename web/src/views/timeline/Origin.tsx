// Where a chat comes from, said at its top, with the way back.

import { hrefOf } from "../../app/address";
import { useApp } from "../../app/context";
import type { ChatOrigin } from "../../protocol/types";
import { chatTitle } from "../../state/chats";
import { Icon } from "../ui/Icon";

const WORDS: Record<Exclude<ChatOrigin["kind"], "user">, string> = {
  tool: "Sub-agent",
  fork: "Fork",
  sideChat: "Side chat",
};

export function Origin() {
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
      <span className="badge">{WORDS[origin.kind]}</span>
      <strong>{chatTitle(chats ?? [], chat)}</strong>
    </nav>
  );
}
