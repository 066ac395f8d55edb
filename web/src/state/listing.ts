// The list of sessions as somebody wants to see it: in sections, filtered. What
// needs a person stands first, whatever the rest is sorted by.

import { Status } from "../protocol/types";
import type { SessionSummary, URI } from "../protocol/types";
import { GROUP_LABELS, GROUPS, groupOf, matches, placeOf } from "./sessions";
import type { SessionGroup } from "./sessions";

export type GroupedBy = "state" | "project" | "date";

export interface Filter {
  query: string;
  /** Only sessions in this state, of this agent, in this project. */
  state?: SessionGroup;
  provider?: string;
  project?: string;
  showsArchived: boolean;
}

export interface Listing {
  by: GroupedBy;
  filter: Filter;
  pinned: ReadonlySet<URI>;
  now: number;
}

export type ListItem =
  | { kind: "section"; id: string; label: string; count: number; tone?: "needs" | "bad" }
  | { kind: "archive"; count: number; isOpen: boolean }
  | { kind: "session"; session: SessionSummary; isPinned: boolean };

const NO_PROJECT = "No project";

export function listed(sessions: readonly SessionSummary[], { by, filter, pinned, now }: Listing): ListItem[] {
  const shown = sessions.filter((session) => fits(session, filter));
  const archived = shown.filter((session) => groupOf(session) === "archived");
  const sections = new Map<string, { section: Section; sessions: SessionSummary[] }>();
  for (const session of shown) {
    const group = groupOf(session);
    if (group === "archived") continue;
    const section = pinned.has(session.resource) && group !== "needs-you" ? PINNED : sectionOf(session, by, now);
    const known = sections.get(section.id);
    if (known) known.sessions.push(session);
    else sections.set(section.id, { section, sessions: [session] });
  }
  const inOrder = [...sections.values()].sort((a, b) => a.section.rank - b.section.rank || a.section.label.localeCompare(b.section.label));
  const items = inOrder.flatMap(({ section, sessions: within }): ListItem[] => [
    { kind: "section", id: section.id, label: section.label, count: within.length, tone: section.tone },
    ...newestFirst(within, section.id === ATTENTION.id).map((session): ListItem => ({ kind: "session", session, isPinned: pinned.has(session.resource) })),
  ]);
  if (archived.length === 0) return items;
  const isOpen = filter.showsArchived || filter.query !== "" || filter.state === "archived";
  const old = isOpen ? newestFirst(archived, false).map((session): ListItem => ({ kind: "session", session, isPinned: pinned.has(session.resource) })) : [];
  return [...items, { kind: "archive", count: archived.length, isOpen }, ...old];
}

interface Section {
  id: string;
  label: string;
  rank: number;
  tone?: "needs" | "bad";
}

const PINNED: Section = { id: "pinned", label: "Pinned", rank: 1 };
const ATTENTION: Section = { id: "attention", label: "Needs you", rank: 0, tone: "needs" };
const DAYS: readonly (readonly [days: number, label: string])[] = [
  [0, "Today"],
  [1, "Yesterday"],
  [7, "Last 7 days"],
  [30, "Last 30 days"],
];

function sectionOf(session: SessionSummary, by: GroupedBy, now: number): Section {
  const group = groupOf(session);
  if (group === "needs-you") return ATTENTION;
  if (by === "state") return { id: group, label: GROUP_LABELS[group], rank: 2 + GROUPS.indexOf(group), tone: group === "failed" ? "bad" : undefined };
  // What failed and was not looked at yet is like something that waits.
  if (group === "failed" && !(session.status & Status.IsRead)) return ATTENTION;
  if (by === "project") {
    const label = placeOf(session) || NO_PROJECT;
    return { id: `project:${session.project?.uri ?? label}`, label, rank: label === NO_PROJECT ? 3 : 2 };
  }
  const age = daysBetween(Date.parse(session.modifiedAt), now);
  const at = DAYS.findIndex(([days]) => age <= days);
  const [, label] = DAYS[at] ?? [0, "Older"];
  return { id: `date:${label}`, label, rank: 2 + (at < 0 ? DAYS.length : at) };
}

/** In days of the calendar, as people count. */
function daysBetween(from: number, to: number): number {
  const midnight = (time: number) => new Date(time).setHours(0, 0, 0, 0);
  return Math.round((midnight(to) - midnight(from)) / 86_400_000);
}

function fits(session: SessionSummary, { query, state, provider, project }: Filter): boolean {
  if (query && !matches(session, query)) return false;
  if (state && groupOf(session) !== state) return false;
  if (provider && session.provider !== provider) return false;
  return !project || placeOf(session) === project;
}

/** Among those that need somebody, questions come before failures. */
function newestFirst(sessions: SessionSummary[], isAttention: boolean): SessionSummary[] {
  const rank = (session: SessionSummary) => (isAttention ? GROUPS.indexOf(groupOf(session)) : 0);
  return sessions.toSorted((a, b) => rank(a) - rank(b) || (a.modifiedAt < b.modifiedAt ? 1 : a.modifiedAt > b.modifiedAt ? -1 : 0));
}

/** How many filters are set. */
export function filtersIn({ state, provider, project }: Filter): number {
  return [state, provider, project].filter(Boolean).length;
}
