// The list of sessions: sections, filters, and several at once.

import { useCallback, useMemo, useRef, useState } from "react";
import { Virtualizer } from "virtua";
import { hrefOf } from "../app/address";
import { useApp, useHost } from "../app/context";
import { pin, useGroupedBy, usePinned } from "../app/listing";
import { archive, markRead, remove } from "../app/sessions";
import { useNow } from "../lib/now";
import { count } from "../lib/text";
import { Status } from "../protocol/types";
import type { SessionSummary, URI } from "../protocol/types";
import { filtersIn, listed } from "../state/listing";
import type { Filter, GroupedBy, ListItem } from "../state/listing";
import { GROUP_LABELS, GROUPS, placeOf } from "../state/sessions";
import { SessionRow } from "./SessionRow";
import { Icon } from "./ui/Icon";
import { Menu } from "./ui/Menu";
import type { MenuItem } from "./ui/Menu";
import { Skeleton } from "./ui/Skeleton";

const NO_FILTER: Filter = { query: "", showsArchived: false };
const ROW = 48;
/** Of agents and projects to filter by: those with the latest sessions. */
const MOST_CHOICES = 30;

export function SessionList() {
  const sessions = useApp((state) => state.sessions);
  const isLoaded = useApp((state) => state.sessionsLoaded);
  const isThere = useApp((state) => state.connected || state.connection.attempt === 0);
  const current = useApp((state) => state.currentSessionId);
  const [by, setBy] = useGroupedBy();
  const pinned = usePinned();
  const now = useNow();
  const [filter, setFilter] = useState(NO_FILTER);
  const [selected, setSelected] = useState<ReadonlySet<URI>>();
  const scroller = useRef<HTMLDivElement>(null);
  const items = useMemo(() => listed(sessions, { by, filter, pinned, now }), [sessions, by, filter, pinned, now]);
  const change = (changes: Partial<Filter>) => setFilter((known) => ({ ...known, ...changes }));
  const onSelect = useSelecting(items, setSelected);
  return (
    <>
      <div className="list-tools">
        <span className="search-field">
          <Icon name="search" />
          <input
            type="search"
            placeholder="Filter sessions"
            aria-label="Search sessions"
            value={filter.query}
            onChange={(event) => change({ query: event.target.value })}
          />
        </span>
        <Menu label={filterLabel(filter)} className={filtersIn(filter) > 0 ? "icon-button active" : "icon-button"} items={viewMenu({ sessions, by, setBy, filter, change, onSelect: () => setSelected(new Set()) })}>
          <Icon name="filter" />
        </Menu>
      </div>
      {filtersIn(filter) > 0 && <FilterChips filter={filter} onChange={change} />}
      <div className="session-list" ref={scroller}>
        {!isLoaded && (isThere ? <Skeleton shape="list" /> : <p className="sidebar-empty">Your sessions appear as soon as the host answers.</p>)}
        {isLoaded && sessions.length === 0 && <p className="sidebar-empty">Sessions appear here as soon as you send a first prompt.</p>}
        {isLoaded && sessions.length > 0 && items.length === 0 && (
          <p className="sidebar-empty">
            No session matches.{" "}
            <button type="button" className="link-button" onClick={() => setFilter(NO_FILTER)}>
              Clear filters
            </button>
          </p>
        )}
        <Virtualizer scrollRef={scroller} data={items} itemSize={ROW} bufferSize={400}>
          {(item) => (
            <Item
              key={keyOf(item)}
              item={item}
              current={current}
              selected={selected}
              onSelect={onSelect}
              onArchive={() => change({ showsArchived: !filter.showsArchived })}
            />
          )}
        </Virtualizer>
      </div>
      {selected && <Selected sessions={sessions} selected={selected} pinned={pinned} onDone={() => setSelected(undefined)} />}
    </>
  );
}

function keyOf(item: ListItem): string {
  return item.kind === "session" ? item.session.resource : item.kind === "section" ? item.id : "archive";
}

interface ItemProps {
  item: ListItem;
  current: URI | null;
  selected: ReadonlySet<URI> | undefined;
  onSelect: (session: SessionSummary, isRange: boolean) => void;
  onArchive: () => void;
}

function Item({ item, current, selected, onSelect, onArchive }: ItemProps) {
  switch (item.kind) {
    case "archive":
      return (
        <button type="button" className="group-head group-toggle" aria-expanded={item.isOpen} onClick={onArchive}>
          <Icon name={item.isOpen ? "chevronDown" : "chevron"} /> Archived <span>{item.count}</span>
        </button>
      );
    case "section":
      return (
        <h2 className={item.tone ? `group-head group-${item.tone}` : "group-head"} title={item.label}>
          <bdi>{item.label}</bdi> <span>{item.count}</span>
        </h2>
      );
    case "session": {
      const { resource } = item.session;
      return (
        <SessionRow
          session={item.session}
          isCurrent={resource === current}
          isPinned={item.isPinned}
          isSelected={selected?.has(resource)}
          onSelect={onSelect}
          href={hrefOf({ view: "session", session: resource, chat: null })}
        />
      );
    }
  }
}

/** Adds one to the selection or takes it out, or all from the last one to this. */
function useSelecting(items: ListItem[], setSelected: React.Dispatch<React.SetStateAction<ReadonlySet<URI> | undefined>>) {
  const last = useRef<URI>(undefined);
  const shown = useRef(items);
  shown.current = items;
  return useCallback(
    ({ resource }: SessionSummary, isRange: boolean) => {
      const order = shown.current.flatMap((item) => (item.kind === "session" ? [item.session.resource] : []));
      const from = last.current === undefined ? -1 : order.indexOf(last.current);
      const to = order.indexOf(resource);
      last.current = resource;
      setSelected((known) => {
        const next = new Set(known);
        if (isRange && from >= 0 && to >= 0) for (const one of order.slice(Math.min(from, to), Math.max(from, to) + 1)) next.add(one);
        else if (!next.delete(resource)) next.add(resource);
        return next;
      });
    },
    [setSelected],
  );
}

interface ViewMenu {
  sessions: readonly SessionSummary[];
  by: GroupedBy;
  setBy: (by: GroupedBy) => void;
  filter: Filter;
  change: (changes: Partial<Filter>) => void;
  onSelect: () => void;
}

const BY: [GroupedBy, string][] = [
  ["date", "Date"],
  ["project", "Project"],
  ["state", "Status"],
];

function viewMenu({ sessions, by, setBy, filter, change, onSelect }: ViewMenu): MenuItem[] {
  const distinct = (pick: (session: SessionSummary) => string) => [...new Set(sessions.map(pick))].filter(Boolean).slice(0, MOST_CHOICES).sort();
  const choices = (heading: string, known: string[], chosen: string | undefined, labelOf: (one: string) => string, choose: (one: string | undefined) => void): MenuItem[] =>
    known.length < 2
      ? []
      : known.map((one, index) => ({
          label: labelOf(one),
          isChecked: one === chosen,
          ...(index === 0 ? { heading } : {}),
          run: () => choose(one === chosen ? undefined : one),
        }));
  const states = GROUPS.filter((group) => group !== "archived");
  return [
    ...BY.map(([value, label], index): MenuItem => ({ label, isChecked: by === value, ...(index === 0 ? { heading: "Group by" } : {}), run: () => setBy(value) })),
    ...choices("Status", [...states], filter.state, (one) => GROUP_LABELS[one as keyof typeof GROUP_LABELS], (state) => change({ state: state as Filter["state"] })),
    ...choices("Agent", distinct(({ provider }) => provider), filter.provider, (one) => one, (provider) => change({ provider })),
    ...choices("Project", distinct(placeOf), filter.project, (one) => one, (project) => change({ project })),
    { label: filter.showsArchived ? "Hide archived" : "Show archived", icon: "archive", heading: "", run: () => change({ showsArchived: !filter.showsArchived }) },
    { label: "Select sessions", icon: "select", run: onSelect },
  ];
}

function filterLabel(filter: Filter): string {
  const set = filtersIn(filter);
  return set === 0 ? "Group and filter sessions" : `Group and filter sessions, ${count(set, "filter")} on`;
}

function FilterChips({ filter, onChange }: { filter: Filter; onChange: (changes: Partial<Filter>) => void }) {
  const chips: [label: string | undefined, clear: Partial<Filter>][] = [
    [filter.state && GROUP_LABELS[filter.state], { state: undefined }],
    [filter.provider, { provider: undefined }],
    [filter.project, { project: undefined }],
  ];
  return (
    <div className="filter-chips">
      {chips.map(([label, clear]) =>
        label === undefined ? null : (
          <button key={label} type="button" className="chip" aria-label={`Remove filter ${label}`} onClick={() => onChange(clear)}>
            <span>{label}</span> <Icon name="close" />
          </button>
        ),
      )}
    </div>
  );
}

interface SelectedProps {
  sessions: readonly SessionSummary[];
  selected: ReadonlySet<URI>;
  pinned: ReadonlySet<URI>;
  onDone: () => void;
}

/** What can be done with all that are selected. */
function Selected({ sessions, selected, pinned, onDone }: SelectedProps) {
  const host = useHost();
  const chosen = sessions.filter(({ resource }) => selected.has(resource));
  const uris = chosen.map(({ resource }) => resource);
  const areArchived = chosen.length > 0 && chosen.every(({ status }) => status & Status.IsArchived);
  const arePinned = chosen.length > 0 && uris.every((uri) => pinned.has(uri));
  const all = (act: () => void) => () => {
    act();
    onDone();
  };
  return (
    <div className="selection-bar" role="toolbar" aria-label="Selected sessions">
      <span role="status">{chosen.length === 0 ? "Select sessions" : `${chosen.length} selected`}</span>
      <button type="button" className="icon-button" disabled={chosen.length === 0} aria-label="Mark as read" title="Mark as read" onClick={all(() => uris.forEach((uri) => markRead(host, uri, true)))}>
        <Icon name="read" />
      </button>
      <button type="button" className="icon-button" disabled={chosen.length === 0} aria-label={arePinned ? "Unpin" : "Pin"} title={arePinned ? "Unpin" : "Pin"} onClick={all(() => pin(uris, !arePinned))}>
        <Icon name={arePinned ? "unpin" : "pin"} />
      </button>
      <button
        type="button"
        className="icon-button"
        disabled={chosen.length === 0}
        aria-label={areArchived ? "Unarchive" : "Archive"}
        title={areArchived ? "Unarchive" : "Archive"}
        onClick={all(() => uris.forEach((uri) => archive(host, uri, !areArchived)))}
      >
        <Icon name="archive" />
      </button>
      <button type="button" className="icon-button" disabled={chosen.length === 0} aria-label="Delete" title="Delete" onClick={all(() => remove(host, ...chosen))}>
        <Icon name="trash" />
      </button>
      <button type="button" className="icon-button" aria-label="Stop selecting" title="Stop selecting" onClick={onDone}>
        <Icon name="close" />
      </button>
    </div>
  );
}
