// Why the host rejected an action, for programs. The reason that comes with it
// is for people: its words may change, and nothing is decided by them.

import type { ActionEnvelope } from "./types";

/** Those that this client asks for. Hosts may give others; older ones give none. */
export type RejectionCode = "turnExists";

export function isRejectedAs({ rejectionReason, _meta }: ActionEnvelope, code: RejectionCode): boolean {
  const innkeeper = _meta?.["innkeeper"] as { code?: unknown } | null | undefined;
  return rejectionReason !== undefined && innkeeper?.code === code;
}
