import { describe, expect, test } from "vitest";
import { Status } from "../protocol/types";
import type { SessionSummary } from "../protocol/types";
import { filtersIn, listed } from "./listing";
import type { Filter, GroupedBy, ListItem } from "./listing";
import { summary } from "./testing";

const NOW = Date.parse("2026-05-20T12:00:00");
const at = (day: number, hour = 10) => new Date(2026, 4, day, hour).toISOString();
const session = (title: string, changes: Partial<SessionSummary> = {}) =>
  summary({ resource: `ahp-session:/${title}`, title, status: Status.Idle | Status.IsRead, modifiedAt: at(20), ...changes });

const NO_FILTER: Filter = { query: "", showsArchived: false };

function shown(sessions: SessionSummary[], by: GroupedBy, { pinned = [] as string[], filter = {} as Partial<Filter> } = {}): string[] {
  const items = listed(sessions, { by, pinned: new Set(pinned.map((name) => `ahp-session:/${name}`)), filter: { ...NO_FILTER, ...filter }, now: NOW });
  return items.map(line);
}

function line(item: ListItem): string {
  if (item.kind === "session") return item.session.title;
  return item.kind === "section" ? `# ${item.label} ${item.count}` : `# Archived ${item.count}`;
}

describe("the list of sessions", () => {
  test("by state, what failed comes right after what waits", () => {
    const sessions = [
      session("idle"),
      session("failed", { status: Status.Error | Status.IsRead, modifiedAt: at(1) }),
      session("working", { status: Status.InProgress }),
      session("asks", { status: Status.InputNeeded }),
    ];
    expect(shown(sessions, "state")).toEqual(["# Needs you 1", "asks", "# Failed 1", "failed", "# Working 1", "working", "# Idle 1", "idle"]);
  });

  test.each(["project", "date"] as const)("by %s, what waits and what failed unseen stand on top", (by) => {
    const sessions = [
      session("new", { modifiedAt: at(20, 11) }),
      session("failed", { status: Status.Error, modifiedAt: at(2) }),
      session("asks", { status: Status.InputNeeded, modifiedAt: at(1) }),
    ];
    expect(shown(sessions, by).slice(0, 3)).toEqual(["# Needs you 2", "asks", "failed"]);
  });

  test("a failure that was looked at goes back to its place", () => {
    const seen = session("failed", { status: Status.Error | Status.IsRead });
    expect(shown([seen], "date")).toEqual(["# Today 1", "failed"]);
  });

  test("by date, days are those of the calendar", () => {
    const sessions = [session("this morning", { modifiedAt: at(20, 1) }), session("last night", { modifiedAt: at(19, 23) }), session("days ago", { modifiedAt: at(14) }), session("weeks ago", { modifiedAt: at(1) }), session("long ago", { modifiedAt: "2025-01-01T00:00:00Z" })];
    expect(shown(sessions, "date")).toEqual(["# Today 1", "this morning", "# Yesterday 1", "last night", "# Last 7 days 1", "days ago", "# Last 30 days 1", "weeks ago", "# Older 1", "long ago"]);
  });

  test("by project, projects are sorted by name and their sessions by time", () => {
    const inProject = (name: string) => ({ project: { uri: `file:///${name}`, displayName: name } });
    const sessions = [session("b1", inProject("beta")), session("none"), session("a1", { ...inProject("alpha"), modifiedAt: at(18) }), session("a2", inProject("alpha"))];
    expect(shown(sessions, "project")).toEqual(["# alpha 2", "a2", "a1", "# beta 1", "b1", "# No project 1", "none"]);
  });

  test("pinned sessions have a section of their own, but what waits needs somebody", () => {
    const sessions = [session("one"), session("two"), session("asks", { status: Status.InputNeeded })];
    expect(shown(sessions, "date", { pinned: ["two", "asks"] })).toEqual(["# Needs you 1", "asks", "# Pinned 1", "two", "# Today 1", "one"]);
  });

  test("archived sessions stay behind a click, unless they are looked for", () => {
    const sessions = [session("here"), session("old", { status: Status.Idle | Status.IsArchived })];
    expect(shown(sessions, "date")).toEqual(["# Today 1", "here", "# Archived 1"]);
    expect(shown(sessions, "date", { filter: { showsArchived: true } })).toContain("old");
    expect(shown(sessions, "date", { filter: { query: "old" } })).toEqual(["# Archived 1", "old"]);
  });

  test("filters narrow down, and are counted", () => {
    const sessions = [session("mine", { provider: "claude" }), session("other", { provider: "script" }), session("busy", { provider: "claude", status: Status.InProgress })];
    expect(shown(sessions, "date", { filter: { provider: "claude", state: "idle" } })).toEqual(["# Today 1", "mine"]);
    expect(filtersIn({ ...NO_FILTER, provider: "claude", state: "idle" })).toBe(2);
  });
});
