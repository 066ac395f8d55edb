// The small types that every channel of the Agent Host Protocol shares.
// Names and shapes are those of protocol 1.0.0 on the wire.

export type URI = string;
export type JsonObject = Record<string, unknown>;
export type StringOrMarkdown = string | { markdown: string };

export interface ErrorInfo {
  errorType: string;
  message: string;
  stack?: string;
  _meta?: JsonObject;
}

/** Large content that stays on the host until somebody asks for it. */
export interface ContentRef {
  uri: URI;
  sizeHint?: number;
  contentType?: string;
  nonce?: string;
}

export interface TextPosition {
  line: number;
  character: number;
}

export interface TextRange {
  start: TextPosition;
  end: TextPosition;
}

export interface ChangesSummary {
  additions?: number;
  deletions?: number;
  files?: number;
}

export interface UsageInfo {
  inputTokens?: number;
  outputTokens?: number;
  model?: string;
  cacheReadTokens?: number;
  _meta?: JsonObject;
}

export interface ConfigPropertySchema {
  type: string;
  title: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  enumLabels?: string[];
  enumDescriptions?: string[];
  readOnly?: boolean;
  items?: ConfigPropertySchema;
  properties?: Record<string, ConfigPropertySchema>;
  required?: string[];
  /** Session schemas only: values come from `sessionConfigCompletions`. */
  enumDynamic?: boolean;
  /** Session schemas only: may change after the session was created. */
  sessionMutable?: boolean;
}

export interface ConfigSchema {
  type: string;
  properties: Record<string, ConfigPropertySchema>;
  required?: string[];
}

export interface ConfigState {
  schema: ConfigSchema;
  values: JsonObject;
}

/** Something that wants a token (RFC 9728, as far as it is shown). */
export interface ProtectedResource {
  resource: string;
  resource_name?: string;
  authorization_servers?: string[];
  scopes_supported?: string[];
  resource_documentation?: string;
  /** Whether it is needed; where nothing is said, it is. */
  required?: boolean;
}

/** A bitset: one activity (bits 0–4), and flags. */
export const Status = {
  Idle: 1,
  Error: 2,
  InProgress: 8,
  /** Includes the bit of `InProgress`. */
  InputNeeded: 24,
  IsRead: 32,
  IsArchived: 64,
} as const;

export const ACTIVITY_MASK = 31;
