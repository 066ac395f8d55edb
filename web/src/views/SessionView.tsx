// One session: its header, the conversation, the editor, and a pane next to it.

import { lazy, Suspense, useEffect, useRef, useState } from "react";
import type { CSSProperties } from "react";
import type { Route } from "../app/address";
import { useApp, useChannel, useHost } from "../app/context";
import { markChatRead } from "../app/chats";
import { joinSession, markRead } from "../app/sessions";
import { useWidth, WIDTHS } from "../app/sidebar";
import { Status } from "../protocol/types";
import type { ChatState } from "../protocol/types";
import { Dock } from "./decide/Dock";
import { Composer } from "./composer/Composer";
import { NotCreated } from "./NotCreated";
import { SessionHeader } from "./SessionHeader";
import { Timeline } from "./timeline/Timeline";
import { Welcome } from "./timeline/Welcome";
import { Icon } from "./ui/Icon";
import { Separator } from "./ui/Separator";
import { Skeleton } from "./ui/Skeleton";

const ChangesPane = lazy(() => import("./panes/ChangesPane"));
const TerminalsPane = lazy(() => import("./panes/TerminalsPane"));
const FilesPane = lazy(() => import("./panes/FilesPane"));
const DetailsPane = lazy(() => import("./panes/DetailsPane"));

type SessionRoute = Extract<Route, { view: "session" }>;

export function SessionView({ route }: { route: SessionRoute }) {
  const host = useHost();
  const { session: uri, chat: wanted, pane } = route;
  useEffect(() => host.store.select(uri, wanted), [host, uri, wanted]);
  const session = useChannel(uri, "session");
  const chatUri = wanted ?? session?.defaultChat ?? session?.chats[0]?.resource;
  const chat = useChannel(chatUri, "chat");
  const isKnown = useApp((state) => state.sessions.some(({ resource }) => resource === uri));
  const isLoaded = useApp((state) => state.sessionsLoaded);
  const isCurrent = useApp((state) => state.currentSessionId === uri && state.currentChatId === chatUri);
  const isEmpty = useApp((state) => state.messages.length === 0);
  const starting = useApp((state) => state.starting.get(uri));
  const [paneWidth, setPaneWidth] = useWidth("pane");
  /** How often something was said here. */
  const [sent, setSent] = useState(0);
  usePresence(uri, session !== undefined);
  useReading(uri);
  useReadingChat(chat);

  if (!session && isLoaded && !isKnown) {
    return (
      <div className="page-note">
        <Icon name="question" />
        <h1>This session is not here</h1>
        <p>It was deleted, or it belongs to another host.</p>
        <a className="button" href="#/start">
          New session
        </a>
      </div>
    );
  }
  const isReadOnly = chat?.interactivity === "read-only" || chat?.interactivity === "hidden";
  return (
    <div className={pane ? "session has-pane" : "session"} style={{ "--pane": `${paneWidth}px` } as CSSProperties}>
      <SessionHeader route={route} session={session} chat={chat} />
      <section className="session-main" aria-label="Conversation">
        {session?.lifecycle === "failed" && <NotCreated uri={uri} session={session} />}
        {chatUri && chat && isCurrent ? (
          <>
            {isEmpty ? <Welcome chat={chatUri} /> : <Timeline key={chatUri} chat={chatUri} sent={sent} at={route.at} />}
            <Dock />
            <Composer key={`composer-${chatUri}`} chat={chatUri} isReadOnly={isReadOnly} onSent={() => setSent(sent + 1)} />
          </>
        ) : (
          <Skeleton shape="conversation" label={starting ?? (session?.lifecycle === "creating" ? "The session is being created…" : "Loading…")} />
        )}
      </section>
      {pane && <Separator label="Width of the pane" width={paneWidth} {...WIDTHS.pane} side="right" onMove={setPaneWidth} />}
      {pane && (
        <aside className="pane" aria-label={pane}>
          <Suspense fallback={<Skeleton shape="pane" />}>
            {pane === "changes" && <ChangesPane route={route} />}
            {pane === "files" && <FilesPane route={route} />}
            {pane === "terminals" && <TerminalsPane route={route} />}
            {pane === "details" && <DetailsPane route={route} />}
          </Suspense>
        </aside>
      )}
    </div>
  );
}

/** The others on the session see that somebody is here. */
function usePresence(uri: string, isOpen: boolean): void {
  const host = useHost();
  const isHere = useApp((state) => state.session?.activeClients.some(({ clientId }) => clientId === host.store.clientId));
  const isConnected = useApp((state) => state.connected);
  useEffect(() => {
    if (isOpen && isConnected && isHere === false) joinSession(host, uri);
  }, [host, uri, isOpen, isConnected, isHere]);
}

/** What is on the screen counts as read, while somebody looks at the screen. */
function useReading(uri: string): void {
  const host = useHost();
  const isUnread = useApp((state) => {
    const summary = state.sessions.find(({ resource }) => resource === uri);
    return summary !== undefined && (summary.status & (Status.IsRead | Status.InProgress)) === 0;
  });
  useEffect(() => {
    const read = () => {
      if (isUnread && document.visibilityState === "visible") markRead(host, uri, true);
    };
    read();
    document.addEventListener("visibilitychange", read);
    return () => document.removeEventListener("visibilitychange", read);
  }, [host, uri, isUnread]);
}

/** Likewise a chat: when it is opened, and whenever a turn has ended in it. Who marks it as unread meanwhile has the last word. */
function useReadingChat(chat: ChatState | undefined): void {
  const host = useHost();
  const status = useRef(chat?.status);
  useEffect(() => {
    status.current = chat?.status;
  });
  const uri = chat?.resource;
  const isBusy = chat?.activeTurn !== undefined;
  useEffect(() => {
    const read = () => {
      const isUnread = status.current !== undefined && (status.current & Status.IsRead) === 0;
      if (uri && isUnread && !isBusy && document.visibilityState === "visible") markChatRead(host, uri, true);
    };
    read();
    document.addEventListener("visibilitychange", read);
    return () => document.removeEventListener("visibilitychange", read);
  }, [host, uri, isBusy]);
}
