// Automations: what agents do by themselves, and the runs of it.

import type { ConfigSchema, ErrorInfo, JsonObject, URI, UsageInfo } from "./common";
import type { PluginCustomization } from "./customization";
import type { AgentSelection, Message, ModelSelection } from "./message";

export interface AutomationScheduleTrigger {
  kind: "schedule";
  id: string;
  schedule: { expression: string; timeZone: string };
  misfirePolicy?: "skip" | "runOnce";
}

export interface AutomationTriggerEvent {
  id: string;
  title: string;
  description?: string;
}

export interface AutomationEventTrigger {
  kind: "event";
  id: string;
  type: string;
  title: string;
  description?: string;
  events: AutomationTriggerEvent[];
  config?: JsonObject;
}

export type AutomationTrigger = AutomationScheduleTrigger | AutomationEventTrigger;

export interface AutomationTriggerDefinition {
  type: string;
  title: string;
  description?: string;
  events: AutomationTriggerEvent[];
  configSchema?: ConfigSchema;
}

export interface AutomationSessionTemplate {
  provider?: string;
  model?: ModelSelection;
  agent?: AgentSelection;
  workingDirectories?: URI[];
  config?: JsonObject;
  customizations?: AutomationPlugin[];
}

/** A plugin of a client, of which the host keeps a copy. */
export interface AutomationPlugin {
  type: "plugin";
  id: string;
  uri: URI;
  name: string;
  nonce?: string;
}

export type AutomationDisableCondition = { kind: "afterRuns"; max: number } | { kind: "afterDate"; date: string };

export interface AutomationDefinition {
  title: string;
  message: Message;
  session: AutomationSessionTemplate;
  enabled: boolean;
  triggers: AutomationTrigger[];
  disableConditions?: AutomationDisableCondition[];
  _meta?: JsonObject;
}

export type AutomationRunOrigin =
  | { kind: "manual" }
  | { kind: "trigger"; triggerId: string; scheduledFor?: string; catchUp?: boolean; event?: JsonObject };

export type AutomationRunLifecycle =
  | { status: "pending"; createdAt: string }
  | { status: "running"; createdAt: string; startedAt: string }
  | { status: "completed"; createdAt: string; startedAt: string; completedAt: string; usage?: UsageInfo }
  | { status: "failed"; createdAt: string; startedAt?: string; completedAt: string; error: ErrorInfo }
  | { status: "cancelled"; createdAt: string; startedAt?: string; completedAt: string };

export interface AutomationRunSummary {
  resource: URI;
  automation: URI;
  origin: AutomationRunOrigin;
  lifecycle: AutomationRunLifecycle;
  primarySession?: URI;
  sessionCount: number;
  _meta?: JsonObject;
}

export interface AutomationRunState {
  resource: URI;
  automation: URI;
  origin: AutomationRunOrigin;
  lifecycle: AutomationRunLifecycle;
  sessions: URI[];
  primarySession?: URI;
  _meta?: JsonObject;
}

export interface AutomationEntry {
  resource: URI;
  definition: AutomationDefinition;
  nextRunAt?: string;
  runCount?: number;
  runs: AutomationRunSummary[];
  runsNextCursor?: string;
  operations: string[];
  /** The host's copies of the plugins. */
  customizations?: PluginCustomization[];
  createdAt: string;
  modifiedAt: string;
  _meta?: JsonObject;
}

export interface AutomationState {
  entries: AutomationEntry[];
  _meta?: JsonObject;
}
