// All sessions at a glance: those that need somebody first.

import { useMemo, useRef, useState } from "react";
import { Virtualizer } from "virtua";
import { hrefOf } from "../app/address";
import { useApp } from "../app/context";
import { GROUP_LABELS, groupOf, matches } from "../state/sessions";
import type { SessionGroup } from "../state/sessions";
import type { SessionSummary } from "../protocol/types";
import { SessionRow } from "./SessionRow";
import { Icon } from "./ui/Icon";

type Item = { group: SessionGroup; count: number } | { session: SessionSummary };

export function Sidebar({ onPalette }: { onPalette: () => void }) {
  const sessions = useApp((state) => state.sessions);
  const isLoaded = useApp((state) => state.sessionsLoaded);
  const current = useApp((state) => state.currentSessionId);
  const waiting = useApp((state) => state.inbox.length);
  const [query, setQuery] = useState("");
  const [showsArchived, setShowsArchived] = useState(false);
  const scroller = useRef<HTMLDivElement>(null);
  const items = useMemo(() => grouped(sessions, query, showsArchived), [sessions, query, showsArchived]);

  return (
    <nav className="sidebar" aria-label="Sessions">
      <header className="sidebar-head">
        <a className="brand" href="#/">
          <img src="/icon.svg" alt="" width="20" height="20" /> Innkeeper
        </a>
        <button type="button" className="icon-button" onClick={onPalette} aria-label="Commands" title="Commands (Ctrl+K)">
          <Icon name="search" />
        </button>
        <a className="icon-button" href="#/automations" aria-label="Automations" title="Automations">
          <Icon name="clock" />
        </a>
        <a className="icon-button" href="#/settings" aria-label="Settings" title="Settings">
          <Icon name="settings" />
        </a>
      </header>
      <div className="sidebar-actions">
        <a className="button primary" href="#/new" data-new-session>
          <Icon name="add" /> New session
        </a>
        <a className="button" href="#/inbox" aria-label={waiting ? `Inbox, ${waiting} waiting` : "Inbox"}>
          <Icon name="inbox" /> Inbox {waiting > 0 && <span className="count">{waiting}</span>}
        </a>
      </div>
      <input
        type="search"
        className="sidebar-search"
        placeholder="Search sessions"
        aria-label="Search sessions"
        value={query}
        onChange={(event) => setQuery(event.target.value)}
      />
      <div className="session-list" ref={scroller}>
        {isLoaded && sessions.length === 0 && <p className="sidebar-empty">No sessions yet. Start one.</p>}
        {isLoaded && sessions.length > 0 && items.length === 0 && <p className="sidebar-empty">Nothing matches.</p>}
        <Virtualizer scrollRef={scroller} data={items} itemSize={52} bufferSize={400}>
          {(item) =>
            "group" in item ? (
              item.group === "archived" ? (
                <button key="archived" type="button" className="group-head link-button" aria-expanded={showsArchived} onClick={() => setShowsArchived(!showsArchived)}>
                  {showsArchived ? "Hide archived" : `Archived (${item.count})`}
                </button>
              ) : (
                <h2 key={item.group} className={`group-head group-${item.group}`}>
                  {GROUP_LABELS[item.group]} <span>{item.count}</span>
                </h2>
              )
            ) : (
              <SessionRow
                key={item.session.resource}
                session={item.session}
                isCurrent={item.session.resource === current}
                href={hrefOf({ view: "session", session: item.session.resource, chat: null })}
              />
            )
          }
        </Virtualizer>
      </div>
    </nav>
  );
}

function grouped(sessions: SessionSummary[], query: string, showsArchived: boolean): Item[] {
  const shown = query ? sessions.filter((session) => matches(session, query)) : sessions;
  const counts = new Map<SessionGroup, number>();
  for (const session of shown) counts.set(groupOf(session), (counts.get(groupOf(session)) ?? 0) + 1);
  const items: Item[] = [];
  let last: SessionGroup | undefined;
  for (const session of shown) {
    const group = groupOf(session);
    if (group !== last) items.push({ group, count: counts.get(group) ?? 0 });
    last = group;
    if (group !== "archived" || showsArchived || query) items.push({ session });
  }
  return items;
}
