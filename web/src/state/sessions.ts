// The catalogue: what each session is doing, and in which order that matters.

import { Status } from "../protocol/types";
import type { SessionSummary } from "../protocol/types";

export type SessionGroup = "needs-you" | "working" | "unread" | "idle" | "failed" | "archived";

export const GROUPS: readonly SessionGroup[] = ["needs-you", "working", "unread", "idle", "failed", "archived"];

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
