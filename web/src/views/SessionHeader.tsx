import { useCallback, useState } from "react";
import { go, hrefOf } from "../app/address";
import type { Pane, Route } from "../app/address";
import { useApp, useHost } from "../app/context";
import { pin, usePinned } from "../app/listing";
import { archive, forkSession, remove, rename } from "../app/sessions";
import { copyText } from "../lib/clipboard";
import { Status } from "../protocol/types";
import type { ChatState, ChatSummary, SessionState, URI } from "../protocol/types";
import { attemptOf } from "../state/attempts";
import { chatTitle } from "../state/chats";
import { canForkIn } from "../state/model";
import { ChatActions } from "./ChatActions";
import { GitState } from "./GitState";
import { Presence } from "./Presence";
import { RenameDialog } from "./RenameDialog";
import { useRenameRequest } from "./renaming";
import { keyLabel } from "./shortcuts";
import { foldAll } from "./timeline/folds";
import { findHere } from "./timeline/finding";
import { AgentMark } from "./ui/AgentMark";
import { Icon } from "./ui/Icon";
import { Menu } from "./ui/Menu";

interface Props {
  route: Extract<Route, { view: "session" }>;
  session: SessionState | undefined;
  chat: ChatState | undefined;
}

export function SessionHeader({ route, session, chat }: Props) {
  const host = useHost();
  const [isRenaming, setRenaming] = useState(false);
  useRenameRequest(useCallback(() => setRenaming(true), []));
  const pinned = usePinned();
  const isPinned = pinned.has(route.session);
  const agent = useApp((state) => state.root?.agents.find(({ provider }) => provider === session?.provider)?.displayName);
  const summary = useApp((state) => state.sessions.find(({ resource }) => resource === route.session));
  const title = session?.title || summary?.title || "New session";
  const attempt = attemptOf(session ?? summary);
  const isArchived = ((session?.status ?? 0) & Status.IsArchived) !== 0;
  const toggle = (pane: Pane) => go({ ...route, pane: route.pane === pane ? undefined : pane });
  const chats = session?.chats.filter(({ interactivity }) => interactivity !== "hidden") ?? [];
  const isSide = chat && chat.resource !== session?.defaultChat;
  const shown = isSide ? chatTitle(chats, chat) : "Main chat";
  const canFork = useApp((state) => canForkIn(state) && !isSide);
  const lastTurn = canFork ? chat?.turns.at(-1)?.id : undefined;
  const onFork = async (turnId: string) => {
    const forked = await forkSession(host, route.session, turnId);
    if (forked) go({ view: "session", session: forked, chat: null });
  };
  return (
    <header className="session-head">
      <a className="icon-button only-narrow" href="#/" aria-label="All sessions">
        <Icon name="back" />
      </a>
      <div className="session-heading">
        {session && <AgentMark provider={session.provider} name={agent} />}
        <h1 title={title} dir="auto">
          {title}
        </h1>
        {chats.length > 1 && (
          <Menu
            label={`Chats of this session: ${shown}`}
            className="picker"
            items={chats.map((known) => ({
              label: known.title || (known.resource === session?.defaultChat ? "Main chat" : "Chat"),
              hint: hintOf(known, chat?.resource),
              isChecked: known.resource === chat?.resource,
              run: () => go({ ...route, chat: known.resource === session?.defaultChat ? null : known.resource }),
            }))}
          >
            <span>{shown}</span>
          </Menu>
        )}
        {session && chat && <ChatActions route={route} session={session} chat={chat} />}
        {attempt && (
          <a className="badge attempt-link" href={hrefOf({ view: "attempts", id: attempt.id })} title="Compare the attempts">
            Attempt {attempt.number} of {attempt.count}
          </a>
        )}
        <GitState meta={session?._meta} />
      </div>
      <Presence clients={session?.activeClients ?? []} />
      <div className="head-actions">
        <PaneButton pane="changes" icon="diff" label="Changes" route={route} onToggle={toggle} />
        <PaneButton pane="files" icon="folder" label="Files" className="only-wide" route={route} onToggle={toggle} />
        <PaneButton pane="terminals" icon="terminal" label="Terminals" route={route} onToggle={toggle} />
        <Menu
          label="Session actions"
          items={[
            { label: "Rename…", icon: "edit", run: () => setRenaming(true) },
            { label: "Files", icon: "folder", run: () => toggle("files") },
            { label: "Find in this conversation", icon: "search", hint: keyLabel("Ctrl F"), run: findHere },
            { label: "Details and settings", icon: "settings", run: () => toggle("details") },
            { label: "Fold or unfold all turns", icon: "fold", hint: "F", run: foldAll },
            { label: isPinned ? "Unpin" : "Pin", icon: isPinned ? "unpin" : "pin", run: () => pin([route.session], !isPinned) },
            ...(lastTurn ? [{ label: "Fork into a new session", icon: "fork" as const, run: () => void onFork(lastTurn) }] : []),
            { label: "Copy link", icon: "link", run: () => void copyText(new URL(hrefOf(route), location.href).href) },
            { label: "Export as HTML", icon: "download", run: () => void import("../app/export").then(({ exportSession }) => exportSession(host)) },
            { label: isArchived ? "Unarchive" : "Archive", icon: "archive", heading: "", run: () => archive(host, route.session, !isArchived) },
            { label: "Delete", icon: "trash", isDangerous: true, run: () => remove(host, { resource: route.session, title }) },
          ]}
        >
          <Icon name="more" />
        </Menu>
      </div>
      {isRenaming && <RenameDialog title={title} onClose={() => setRenaming(false)} onRename={(next) => rename(host, route.session, next)} />}
    </header>
  );
}

const KINDS: Record<string, string> = { fork: "fork", tool: "sub-agent", sideChat: "side chat" };

/** What is special about a chat in the list. */
function hintOf({ origin, status, resource }: ChatSummary, current: URI | undefined): string | undefined {
  const isUnread = (status & Status.IsRead) === 0 && resource !== current;
  const isArchived = (status & Status.IsArchived) !== 0;
  const hints = [origin && KINDS[origin.kind], isUnread && "unread", isArchived && "archived"];
  return hints.filter(Boolean).join(", ") || undefined;
}

interface PaneButtonProps {
  pane: Pane;
  icon: "diff" | "terminal" | "folder";
  label: string;
  className?: string;
  route: Props["route"];
  onToggle: (pane: Pane) => void;
}

function PaneButton({ pane, icon, label, className = "", route, onToggle }: PaneButtonProps) {
  return (
    <button type="button" className={`icon-button ${className}`.trim()} aria-pressed={route.pane === pane} aria-label={label} title={label} onClick={() => onToggle(pane)}>
      <Icon name={icon} />
    </button>
  );
}
