// Terminals: their list on the root channel and their own channels.

import type { URI } from "./common";

export type TerminalClaim =
  | { kind: "client"; clientId: string }
  | { kind: "session"; session: URI; chat: URI; turnId?: string; toolCallId?: string };

export type TerminalLifecycle = { status: "running" } | { status: "exited"; exitCode?: number };

export interface TerminalInfo {
  resource: URI;
  title: string;
  claim: TerminalClaim;
  lifecycle: TerminalLifecycle;
}

export interface TerminalCommandPart {
  type: "command";
  commandId: string;
  commandLine: string;
  output: string;
  timestamp: number;
  isComplete: boolean;
  exitCode?: number;
  durationMs?: number;
}

export type TerminalContentPart = { type: "unclassified"; value: string } | TerminalCommandPart;

export interface TerminalState {
  title: string;
  cwd?: URI;
  cols?: number;
  rows?: number;
  content: TerminalContentPart[];
  lifecycle: TerminalLifecycle;
  claim: TerminalClaim;
  supportsCommandDetection?: boolean;
  isPty?: boolean;
}
