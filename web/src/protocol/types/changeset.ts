// Changesets: what an agent's work did to files, and what can be done about it.

import type { ErrorInfo, JsonObject, StringOrMarkdown, TextRange, URI } from "./common";
import type { FileEdit } from "./toolCall";

/** An entry in the catalogue of a session or chat; the template names channels. */
export interface Changeset {
  label: string;
  uriTemplate: string;
  description?: string;
  changeKind: string;
  capabilities?: { review?: JsonObject };
}

export interface ChangesetFile {
  id: string;
  edit: FileEdit;
  reviewed?: boolean;
  _meta?: JsonObject;
}

export type ChangesetStatus = "computing" | "recomputing" | "ready" | "error";
export type OperationStatus = "idle" | "running" | "error" | "disabled";

export interface ChangesetOperation {
  id: string;
  label: string;
  description?: string;
  scopes: ("changeset" | "resource" | "range")[];
  confirmation?: StringOrMarkdown;
  icon?: string;
  group?: string;
  status: OperationStatus;
  error?: ErrorInfo;
}

export interface ChangesetState {
  status: ChangesetStatus;
  error?: ErrorInfo;
  files: ChangesetFile[];
  operations?: ChangesetOperation[];
}

/** What `invokeChangesetOperation` answers. */
export interface OperationResult {
  message?: StringOrMarkdown;
  followUp?: { content: { uri: URI }; external?: boolean };
}

export type OperationTarget =
  | { kind: "resource"; resource: URI; side?: string }
  | { kind: "range"; resource: URI; side?: string; range: TextRange };
