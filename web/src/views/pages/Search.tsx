// Everything that was said in any session, found again.

import { useState } from "react";
import { hrefOf, replaceQuery } from "../../app/address";
import { useApp, useHost, useRoute } from "../../app/context";
import { SHORTEST, useSearch } from "../../app/search";
import type { Question } from "../../app/search";
import { FIELD_LABELS, knows, SEARCH } from "../../state/search";
import type { Field, Found } from "../../state/search";
import { recentProjects } from "../../state/projects";
import { AgentMark } from "../ui/AgentMark";
import { Ago } from "../ui/Ago";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import { SnippetText } from "../ui/SnippetText";

const FIELDS = Object.keys(FIELD_LABELS) as Field[];
const PAGE = 20;

type Filters = Pick<Question, "in" | "provider" | "directory" | "archived">;

export function Search() {
  const host = useHost();
  const route = useRoute();
  const [query, setQuery] = useState(route.view === "search" ? (route.query ?? "") : "");
  const [filters, setFilters] = useState<Filters>({});
  const canSearch = useApp((state) => knows(state.root, SEARCH));
  const { items, isLooking, problem, note, more } = useSearch(host, canSearch ? { query, ...filters, limit: PAGE } : undefined);
  const isAsked = query.trim().length >= SHORTEST;
  return (
    <div className="page">
      <div className="page-body">
        <h1>Search</h1>
        <div className="search-box">
          <Icon name="search" />
          <input
            type="search"
            autoFocus
            aria-label="Search in all sessions"
            placeholder='Words, or a "phrase"'
            maxLength={400}
            value={query}
            onChange={({ target }) => {
              setQuery(target.value);
              replaceQuery(target.value);
            }}
          />
          {isLooking && <span className="spinner" role="status" aria-label="Searching…" />}
        </div>
        <FilterBar filters={filters} onChange={(changes) => setFilters((known) => ({ ...known, ...changes }))} />
        {!canSearch && <p className="page-hint muted">This host cannot search in conversations. Titles are found in the list of sessions.</p>}
        {problem && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <ol className="found" aria-label="Results">
          {isAsked && items.map((item) => <FoundItem key={`${item.chat}:${item.turnId ?? ""}:${item.field}`} item={item} />)}
        </ol>
        {note && isAsked && <p className="muted page-hint">{note}</p>}
        {more && isAsked && (
          <button type="button" className="button" disabled={isLooking} onClick={more}>
            Show more
          </button>
        )}
        {canSearch && isAsked && !isLooking && !problem && items.length === 0 && (
          <div className="page-empty">
            <Icon name="search" />
            <p>Nothing found</p>
            <small>All words must occur in the same turn. Try fewer words.</small>
          </div>
        )}
        {canSearch && !isAsked && (
          <div className="page-empty">
            <Icon name="search" />
            <p>Search all sessions</p>
            <small>Prompts, answers, commands and titles of all sessions on this host.</small>
          </div>
        )}
      </div>
    </div>
  );
}

function FoundItem({ item }: { item: Found }) {
  return (
    <li>
      <a href={hrefOf({ view: "session", session: item.session, chat: item.chat, at: item.turnId })}>
        <span className="found-head">
          <AgentMark provider={item.provider} />
          <bdi className="found-title">{item.sessionTitle || "New session"}</bdi>
          {item.archived && <span className="badge">archived</span>}
          <span className="badge">{FIELD_LABELS[item.field]}</span>
          <Ago at={item.at} />
        </span>
        <SnippetText snippet={item.snippet} />
      </a>
    </li>
  );
}

function FilterBar({ filters, onChange }: { filters: Filters; onChange: (changes: Partial<Filters>) => void }) {
  const agents = useApp((state) => state.root?.agents) ?? [];
  const projects = recentProjects(useApp((state) => state.sessions));
  const field = filters.in?.[0];
  const agent = agents.find(({ provider }) => provider === filters.provider);
  const project = projects.find(({ uri }) => uri === filters.directory);
  return (
    <div className="search-filters">
      <Menu
        label={`Where: ${field ? FIELD_LABELS[field] : "everywhere"}`}
        className="picker"
        items={[
          { label: "Everywhere", isChecked: !field, run: () => onChange({ in: undefined }) },
          ...FIELDS.map((one) => ({ label: FIELD_LABELS[one], isChecked: one === field, run: () => onChange({ in: [one] }) })),
        ]}
      >
        <span>{field ? FIELD_LABELS[field] : "Everywhere"}</span>
      </Menu>
      <Menu
        label={`Agent: ${agent?.displayName ?? "any agent"}`}
        className="picker"
        items={[
          { label: "Any agent", isChecked: !agent, run: () => onChange({ provider: undefined }) },
          ...agents.map(({ provider, displayName }) => ({ label: displayName, isChecked: provider === agent?.provider, run: () => onChange({ provider }) })),
        ]}
      >
        <span>{agent?.displayName ?? "Any agent"}</span>
      </Menu>
      <Menu
        label={`Project: ${project?.name ?? "any project"}`}
        className="picker"
        items={[
          { label: "Any project", isChecked: !project, run: () => onChange({ directory: undefined }) },
          ...projects.map(({ uri, name }) => ({ label: name, isChecked: uri === filters.directory, run: () => onChange({ directory: uri }) })),
        ]}
      >
        <span>{project?.name ?? "Any project"}</span>
      </Menu>
      <button type="button" className="picker" aria-pressed={filters.archived === false} onClick={() => onChange({ archived: filters.archived === false ? undefined : false })}>
        Without archived
      </button>
    </div>
  );
}
