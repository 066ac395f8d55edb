// One field for everything: commands first by what they are called, sessions
// by their title, and whatever can be pressed on the page. It is there at once, not loaded when it is asked for: what is
// typed behind its key would go elsewhere.

import { useMemo, useState } from "react";
import { go } from "../app/address";
import { useApp, useHost } from "../app/context";
import { useSearch } from "../app/search";
import { knows, SEARCH } from "../state/search";
import type { Snippet } from "../state/search";
import { placeOf, groupOf, matches } from "../state/sessions";
import type { SessionGroup } from "../state/sessions";
import { useCommands } from "./commands";
import { pressables } from "./onPage";
import { keyLabel } from "./shortcuts";
import { Dialog } from "./ui/Dialog";
import { Icon } from "./ui/Icon";
import type { IconName } from "./ui/Icon";
import { SnippetText } from "./ui/SnippetText";
import { StatusDot } from "./ui/StatusDot";

interface Row {
  id: string;
  label: string;
  icon?: IconName;
  group?: SessionGroup;
  /** What it is about, at the end of the line. */
  about?: string;
  keys?: string;
  /** What was said, if that is why it is here. */
  snippet?: Snippet;
  section: string;
  run: () => void;
}

const MOST_SESSIONS = 30;
const MOST_PASSAGES = 8;
const MOST_PRESSABLE = 20;

export function Palette({ onClose, onKeys }: { onClose: () => void; onKeys: () => void }) {
  const [query, setQuery] = useState("");
  const [active, setActive] = useState(0);
  const commands = useCommands(onKeys);
  // What was on the page when this was asked for, which it covers from now on.
  const [here] = useState(() => pressables(document));
  const host = useHost();
  const sessions = useApp((state) => state.sessions);
  const canSearch = useApp((state) => knows(state.root, SEARCH));
  const { items: passages } = useSearch(host, canSearch ? { query, limit: MOST_PASSAGES } : undefined);
  const found = useMemo(() => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const fitting = commands.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
    const onPage = words.length === 0 ? [] : here
      .filter(({ label, about = "" }) => words.every((word) => `${label} ${about}`.toLowerCase().includes(word)) && !fitting.some((command) => command.label === label))
      .slice(0, MOST_PRESSABLE)
      .map(({ label, about, icon, press }): Row => ({
        id: `press:${label}:${about ?? ""}`,
        label,
        icon: icon ?? "press",
        about,
        section: "On this page",
        // The page has the focus again by then.
        run: () => void setTimeout(press),
      }));
    const opens = sessions
      .filter((session) => matches(session, query))
      .slice(0, MOST_SESSIONS)
      .map((session): Row => ({
        id: session.resource,
        label: session.title || "New session",
        group: groupOf(session),
        about: [placeOf(session), groupOf(session) === "archived" && "archived"].filter(Boolean).join(" · "),
        section: "Sessions",
        run: () => go({ view: "session", session: session.resource, chat: null }),
      }));
    const said = passages
      .filter(({ field }) => field !== "title")
      .map((passage): Row => ({
        id: `${passage.chat}:${passage.turnId ?? ""}:${passage.field}`,
        label: passage.sessionTitle || "New session",
        icon: "chat",
        snippet: passage.snippet,
        section: "In conversations",
        run: () => go({ view: "session", session: passage.session, chat: passage.chat, at: passage.turnId }),
      }));
    const all: Row[] = canSearch && words.length > 0 ? [{ id: "search-all", label: `Search in all sessions for “${query.trim()}”`, icon: "search", section: "In conversations", run: () => go({ view: "search", query }) }] : [];
    return [...fitting, ...onPage, ...opens, ...said, ...all];
  }, [commands, here, sessions, passages, canSearch, query]);
  const run = (row: Row | undefined) => {
    onClose();
    row?.run();
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) setActive((active + by + found.length) % Math.max(1, found.length));
    else if (event.key === "Enter" && !event.nativeEvent.isComposing) run(found[active]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog label="Commands" onClose={onClose} className="palette">
      <div className="palette-field">
        <Icon name="search" />
        <input
          data-first-focus
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={`palette-${active}`}
          aria-label="Command or session"
          placeholder="Search commands and sessions…"
          value={query}
          onChange={(event) => {
            setQuery(event.target.value);
            setActive(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <ul id="palette-list" role="listbox" aria-label="Results">
        {found.map((row, index) => (
          <PaletteRow key={row.id} row={row} index={index} isActive={index === active} hasHeading={row.section !== found[index - 1]?.section} onActive={setActive} onRun={run} />
        ))}
        {found.length === 0 && <li className="palette-empty">Nothing matches “{query}”.</li>}
      </ul>
    </Dialog>
  );
}

interface RowProps {
  row: Row;
  index: number;
  isActive: boolean;
  hasHeading: boolean;
  onActive: (index: number) => void;
  onRun: (row: Row) => void;
}

function PaletteRow({ row, index, isActive, hasHeading, onActive, onRun }: RowProps) {
  return (
    <>
      {hasHeading && (
        <li role="presentation" className="palette-section">
          {row.section}
        </li>
      )}
      <li
        id={`palette-${index}`}
        role="option"
        aria-selected={isActive}
        ref={isActive ? (element) => element?.scrollIntoView({ block: "nearest" }) : undefined}
        onPointerMove={() => onActive(index)}
        onClick={() => onRun(row)}
      >
        <span className="palette-icon">{row.group ? <StatusDot group={row.group} /> : <Icon name={row.icon ?? "chevron"} />}</span>
        <bdi>{row.label}</bdi>
        {row.snippet && <SnippetText snippet={row.snippet} />}
        {row.about && <small>{row.about}</small>}
        {row.keys && <kbd>{keyLabel(row.keys)}</kbd>}
      </li>
    </>
  );
}
