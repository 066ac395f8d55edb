// Tokens for what agents and tools need. They go to the host and nowhere else.

import { ErrorCode, RpcError } from "../protocol/rpc";
import type { ProtectedResource } from "../protocol/types";
import type { Host } from "./host";

export async function authenticate({ connection }: Host, resource: string, token: string): Promise<void> {
  await connection.request("authenticate", { channel: "ahp-root://", resource, token });
}

/** What must be signed in to first, if that is why something was refused. */
export function missingAccounts(error: unknown): ProtectedResource[] {
  if (!(error instanceof RpcError) || error.code !== ErrorCode.AuthRequired) return [];
  return (error.data as { resources?: ProtectedResource[] } | undefined)?.resources ?? [];
}
