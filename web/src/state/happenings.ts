// What became of sessions between two looks at the list: which are done, which
// failed. What begins to wait is told by the inbox.

import { Status } from "../protocol/types";
import type { SessionSummary, URI } from "../protocol/types";
import { groupOf } from "./sessions";

export interface Happening {
  kind: "done" | "failed";
  session: SessionSummary;
}

const isBusy = ({ status }: SessionSummary) => (status & Status.InProgress) !== 0;

/** Sessions that worked before and do not any more. One that waits still works. */
export function happenings(before: readonly SessionSummary[], now: readonly SessionSummary[]): Happening[] {
  if (before === now) return [];
  const busy = new Set<URI>(before.filter(isBusy).map(({ resource }) => resource));
  return now.flatMap((session): Happening[] => {
    if (!busy.has(session.resource) || isBusy(session) || session.status & Status.IsArchived) return [];
    return [{ kind: groupOf(session) === "failed" ? "failed" : "done", session }];
  });
}
