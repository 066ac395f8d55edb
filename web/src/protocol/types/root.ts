// The root channel: which agents there are, the host's settings, terminals.

import type { ConfigSchema, ConfigState, JsonObject, ProtectedResource, URI } from "./common";
import type { Customization } from "./customization";
import type { TerminalInfo } from "./terminal";

export interface ModelInfo {
  id: string;
  provider: string;
  name: string;
  maxContextWindow?: number;
  maxOutputTokens?: number;
  maxPromptTokens?: number;
  supportsVision?: boolean;
  policyState?: "enabled" | "disabled" | "unconfigured";
  configSchema?: ConfigSchema;
  _meta?: JsonObject;
}

export interface AgentInfo {
  provider: string;
  displayName: string;
  description: string;
  models: ModelInfo[];
  protectedResources?: ProtectedResource[];
  customizations?: Customization[];
  capabilities?: {
    multipleChats?: { fork?: boolean; sideChat?: boolean };
    multipleWorkingDirectories?: { immutablePrimary?: boolean; primaryReplacement?: boolean };
  };
}

export interface RootState {
  agents: AgentInfo[];
  activeSessions?: number;
  terminals?: TerminalInfo[];
  config?: ConfigState;
  _meta?: JsonObject;
}

export interface Implementation {
  name: string;
  version?: string;
  title?: string;
}

export interface InitializeResult {
  protocolVersion: string;
  serverSeq: number;
  serverInfo?: Implementation;
  snapshots: { resource: URI; state: unknown; fromSeq: number }[];
  defaultDirectory?: URI;
  completionTriggerCharacters?: string[];
  terminalCommandPrefix?: string;
  telemetry?: { logs?: URI; traces?: URI; metrics?: URI };
}
