// A session channel, and what the catalogue says about it.

import type { ChangesSummary, ConfigState, ErrorInfo, JsonObject, URI } from "./common";
import type { Changeset } from "./changeset";
import type { ChatInteractivity, ChatOrigin, ChatSummary } from "./chat";
import type { Customization } from "./customization";
import type { InputRequest } from "./inputRequest";
import type { AuthRequiredCall, PendingCall, PendingResultCall, RunningCall } from "./toolCall";

export interface ToolDefinition {
  name: string;
  title?: string;
  description?: string;
  inputSchema?: unknown;
  _meta?: JsonObject;
}

export interface ActiveClient {
  clientId: string;
  displayName?: string;
  tools: ToolDefinition[];
  customizations?: unknown[];
}

/** Something in one of the session's chats that waits, mostly for a person. */
export type SessionInputRequest =
  | { kind: "chatInput"; id: string; chat: URI; request: InputRequest }
  | {
      kind: "toolConfirmation";
      id: string;
      chat: URI;
      turnId: string;
      toolCall: PendingCall | PendingResultCall;
    }
  | {
      kind: "toolClientExecution";
      id: string;
      chat: URI;
      turnId: string;
      clientId: string;
      toolCall: RunningCall;
    }
  | { kind: "toolAuthentication"; id: string; chat: URI; turnId: string; toolCall: AuthRequiredCall };

interface SessionBase {
  provider: string;
  title: string;
  status: number;
  activity?: string;
  origin?: { kind: string };
  project?: { uri: URI; displayName: string };
  workingDirectories?: URI[];
  annotations?: { resource: URI; annotationCount: number; entryCount: number };
  defaultChat?: URI;
  _meta?: JsonObject;
}

export interface SessionState extends SessionBase {
  lifecycle: "creating" | "ready" | "failed";
  creationError?: ErrorInfo;
  serverTools?: ToolDefinition[];
  activeClients: ActiveClient[];
  chats: ChatSummary[];
  config?: ConfigState;
  customizations?: Customization[];
  changesets?: Changeset[];
  inputNeeded?: SessionInputRequest[];
}

export interface SessionChatSummary {
  resource: URI;
  title: string;
  origin?: ChatOrigin;
  interactivity?: ChatInteractivity;
  status?: number;
  changes?: ChangesSummary;
}

export interface SessionSummary extends SessionBase {
  resource: URI;
  createdAt: string;
  modifiedAt: string;
  changes?: ChangesSummary;
  chats?: SessionChatSummary[];
}
