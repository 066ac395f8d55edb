// What goes between the connection and whoever keeps the state: what the host
// says, and what this client says to it.

import type { ActionEnvelope, InitializeResult, ProtectedResource, SessionSummary, Snapshot, StateAction, URI } from "./types";

export type ServerEvent =
  | { type: "connecting"; attempt: number; reason?: string }
  | { type: "connected"; hello?: InitializeResult }
  | { type: "refused"; reason: string }
  | { type: "tooLarge" }
  | { type: "snapshot"; snapshot: Snapshot }
  | { type: "action"; envelope: ActionEnvelope }
  | { type: "channelGone"; channel: URI }
  | { type: "sessions"; items: SessionSummary[]; first: boolean; last: boolean }
  | { type: "authRequired"; resource: ProtectedResource }
  | { type: "progress"; progressToken: string; progress: number; total?: number; message?: string }
  | { type: "sessionAdded"; summary: SessionSummary }
  | { type: "sessionRemoved"; session: URI }
  | { type: "sessionSummaryChanged"; session: URI; changes: Partial<SessionSummary> };

/** What this client says on a channel. Its number names it until the host has answered. */
export interface OwnAction {
  channel: URI;
  clientSeq: number;
  action: StateAction;
}
