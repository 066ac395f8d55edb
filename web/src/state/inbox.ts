// Everything in any session that waits for a person, newest session first.

import type { SessionInputRequest, SessionState, SessionSummary, URI } from "../protocol/types";

export interface InboxItem {
  session: URI;
  sessionTitle: string;
  request: Exclude<SessionInputRequest, { kind: "toolClientExecution" }>;
}

export function inboxOf(
  sessions: readonly SessionSummary[],
  stateOf: (session: URI) => SessionState | undefined,
): InboxItem[] {
  const items: InboxItem[] = [];
  for (const summary of sessions) {
    const state = stateOf(summary.resource);
    for (const request of state?.inputNeeded ?? []) {
      if (request.kind === "toolClientExecution") continue;
      items.push({ session: summary.resource, sessionTitle: state?.title || summary.title, request });
    }
  }
  return items;
}
