// The catalogue: what each session is doing, and in which order that matters.

import { Status } from "../protocol/types";
import type { SessionSummary } from "../protocol/types";
import { nameOf } from "../protocol/uri";

export type SessionGroup = "needs-you" | "working" | "unread" | "idle" | "failed" | "archived";

/** What somebody should look at stands first. */
export const GROUPS: readonly SessionGroup[] = ["needs-you", "failed", "working", "unread", "idle", "archived"];

export const GROUP_LABELS: Record<SessionGroup, string> = {
  "needs-you": "Needs you",
  working: "Working",
  unread: "Unread",
  idle: "Idle",
  failed: "Failed",
  archived: "Archived",
};

export function groupOf({ status }: Pick<SessionSummary, "status">): SessionGroup {
  if (status & Status.IsArchived) return "archived";
  if ((status & Status.InputNeeded) === Status.InputNeeded) return "needs-you";
  if (status & Status.InProgress) return "working";
  if (status & Status.Error) return "failed";
  return status & Status.IsRead ? "idle" : "unread";
}

export function sorted(sessions: Iterable<SessionSummary>): SessionSummary[] {
  const keyed = [...sessions].map((session) => ({ session, rank: GROUPS.indexOf(groupOf(session)) }));
  keyed.sort((a, b) => a.rank - b.rank || compare(b.session.modifiedAt, a.session.modifiedAt));
  return keyed.map(({ session }) => session);
}

/** Where a session works, in a word. */
export function placeOf({ project, workingDirectories }: Pick<SessionSummary, "project" | "workingDirectories">): string {
  const [first] = workingDirectories ?? [];
  return project?.displayName ?? (first ? nameOf(first) : "");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function matches(session: SessionSummary, query: string): boolean {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const text = [session.title, session.provider, session.project?.displayName, ...(session.workingDirectories ?? [])]
    .join(" ")
    .toLowerCase();
  return words.every((word) => text.includes(word));
}
