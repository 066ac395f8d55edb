// Plugins, agents, skills and MCP servers of a session, as far as reducers
// and pickers look into them.

import type { ErrorInfo, JsonObject, ProtectedResource, URI } from "./common";

export type Enablement =
  | { kind: "global"; enabled: boolean }
  | { kind: "workspace"; uri: URI; enabled: boolean }
  | { kind: "session"; enabled: boolean };

export type McpServerState =
  | { kind: "starting"; blocking?: boolean }
  | { kind: "ready" }
  | { kind: "authRequired"; resource?: ProtectedResource; oauthClient?: { clientId: string }; [detail: string]: unknown }
  | { kind: "error"; error: ErrorInfo }
  | { kind: "stopped" };

interface Base {
  id: string;
  uri: URI;
  name: string;
  icons?: Icon[];
  _meta?: JsonObject;
}

export interface Icon {
  src: URI;
  contentType?: string;
  sizes?: string[];
  theme?: string;
}

export interface McpServerCustomization extends Base {
  type: "mcpServer";
  enablement?: Enablement[];
  state: McpServerState;
  channel?: URI;
}

export interface PlainChild extends Base {
  type: "agent" | "skill" | "prompt" | "rule" | "hook";
  enabled?: boolean;
  description?: string;
  disableUserInvocation?: boolean;
}

export type ChildCustomization = PlainChild | McpServerCustomization;

/** Whether a container could be read: with a message where not all of it. */
export type LoadState = { kind: "loading" } | { kind: "loaded" } | { kind: "degraded"; message: string } | { kind: "error"; message: string };

export interface PluginCustomization extends Base {
  type: "plugin";
  load?: LoadState;
  enablement?: Enablement[];
  children?: ChildCustomization[];
}

export interface DirectoryCustomization extends Base {
  type: "directory";
  load?: LoadState;
  enabled: boolean;
  children?: ChildCustomization[];
}

export type Customization = PluginCustomization | DirectoryCustomization | McpServerCustomization;
