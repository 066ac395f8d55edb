// A tool call in each state of its life, and what it may produce.

import type { ContentRef, ErrorInfo, JsonObject, ProtectedResource, StringOrMarkdown, URI } from "./common";
import type { Message } from "./message";

export type ToolInput = string | ContentRef;

export type ConfirmationReason = "not-needed" | "user-action" | "setting";
export type CancellationReason = "denied" | "skipped" | "result-denied";

export interface ConfirmationOption {
  id: string;
  label: string;
  kind: "approve" | "deny";
  group?: number;
}

export interface FileEditSide {
  uri: URI;
  content: ContentRef;
}

export interface FileEdit {
  before?: FileEditSide;
  after?: FileEditSide;
  diff?: { added?: number; removed?: number };
}

export interface TerminalCommandResult {
  exitCode?: number;
  preview?: string;
  truncated?: boolean;
}

export type ToolResultContent =
  | { type: "text"; text: string }
  | { type: "embeddedResource"; data: string; contentType: string }
  | ({ type: "resource" } & ContentRef)
  | ({ type: "fileEdit" } & FileEdit)
  | {
      type: "terminal";
      resource: URI;
      title: string;
      isPty?: boolean;
      result?: TerminalCommandResult;
    }
  | { type: "subagent"; resource: URI; title: string; agentName?: string; description?: string };

export interface ToolCallResult {
  success: boolean;
  pastTenseMessage: StringOrMarkdown;
  content?: ToolResultContent[];
  structuredContent?: JsonObject;
  error?: unknown;
}

export type ToolCallContributor =
  | { kind: "client"; clientId: string }
  | { kind: "mcp"; customizationId: string };

export type RiskAssessment =
  | { status: "loading"; kind: string }
  | { status: "complete"; kind: string; reason: StringOrMarkdown; safety: number };

export interface AuthRequirement {
  reason: "required" | "expired" | "insufficientScope";
  resource: ProtectedResource;
  /** The client that is registered where people sign in. */
  oauthClient?: { clientId: string };
  description?: string;
}

export interface ToolCallBase {
  toolCallId: string;
  toolName: string;
  displayName: string;
  intention?: string;
  contributor?: ToolCallContributor;
  _meta?: JsonObject;
}

interface Invoked extends ToolCallBase {
  invocationMessage: StringOrMarkdown;
  toolInput?: ToolInput;
}

interface Confirmed extends Invoked {
  confirmed: ConfirmationReason;
  selectedOption?: ConfirmationOption;
}

export interface StreamingCall extends ToolCallBase {
  status: "streaming";
  partialInput?: string;
  invocationMessage?: StringOrMarkdown;
}

export interface PendingCall extends Invoked {
  status: "pending-confirmation";
  confirmationTitle?: StringOrMarkdown;
  riskAssessment?: RiskAssessment;
  edits?: { items: FileEdit[] };
  editable?: boolean;
  options?: ConfirmationOption[];
}

export interface RunningCall extends Confirmed {
  status: "running";
  content?: ToolResultContent[];
}

export interface AuthRequiredCall extends Confirmed {
  status: "auth-required";
  auth: AuthRequirement;
  content?: ToolResultContent[];
}

export interface PendingResultCall extends Confirmed, ToolCallResult {
  status: "pending-result-confirmation";
}

export interface CompletedCall extends Confirmed, ToolCallResult {
  status: "completed";
}

export interface CancelledCall extends Invoked {
  status: "cancelled";
  reason: CancellationReason;
  reasonMessage?: StringOrMarkdown;
  userSuggestion?: Message;
  selectedOption?: ConfirmationOption;
}

export type ToolCall =
  | StreamingCall
  | PendingCall
  | RunningCall
  | AuthRequiredCall
  | PendingResultCall
  | CompletedCall
  | CancelledCall;

export interface ErrorPart {
  kind: "error";
  error: ErrorInfo;
  resumable?: boolean;
}
