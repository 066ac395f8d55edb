// What the host says, in the words of the store.

import type { ActionEnvelope, InitializeResult, ProtectedResource, SessionSummary, Snapshot, URI } from "../protocol/types";

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
  | { type: "sessionAdded"; summary: SessionSummary }
  | { type: "sessionRemoved"; session: URI }
  | { type: "sessionSummaryChanged"; session: URI; changes: Partial<SessionSummary> };
