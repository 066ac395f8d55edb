// Every action that this client understands, by channel.

import type { Annotation, AnnotationEntry, AnnotationOrigin } from "./annotations";
import type { AutomationDefinition, AutomationEntry, AutomationRunLifecycle } from "./automations";
import type { ErrorInfo, JsonObject, StringOrMarkdown, TextRange, URI, UsageInfo } from "./common";
import type { Changeset, ChangesetFile, ChangesetOperation, ChangesetStatus, OperationStatus } from "./changeset";
import type { BackgroundWork, CanvasState, ChatSummary, ResponsePart, Turn } from "./chat";
import type { Customization, Enablement, McpServerState } from "./customization";
import type { InputAnswer, InputRequest, InputResponseKind } from "./inputRequest";
import type { Message, PendingMessageKind } from "./message";
import type { AgentInfo } from "./root";
import type { ActiveClient, SessionInputRequest, ToolDefinition } from "./session";
import type { TerminalClaim, TerminalInfo } from "./terminal";
import type {
  AuthRequirement,
  CancellationReason,
  ConfirmationOption,
  ConfirmationReason,
  ErrorPart,
  FileEdit,
  RiskAssessment,
  ToolCallContributor,
  ToolCallResult,
  ToolInput,
  ToolResultContent,
} from "./toolCall";

export type RootAction =
  | { type: "root/agentsChanged"; agents: AgentInfo[] }
  | { type: "root/activeSessionsChanged"; activeSessions: number }
  | { type: "root/terminalsChanged"; terminals: TerminalInfo[] }
  | { type: "root/configChanged"; config: JsonObject; replace?: boolean };

export type SessionAction =
  | { type: "session/ready" }
  | { type: "session/creationFailed"; error: ErrorInfo }
  | { type: "session/chatAdded"; summary: ChatSummary }
  | { type: "session/chatRemoved"; chat: URI }
  | { type: "session/chatUpdated"; chat: URI; changes: Partial<ChatSummary> }
  | { type: "session/chatsReordered"; chats: URI[] }
  | { type: "session/defaultChatChanged"; defaultChat?: URI }
  | { type: "session/titleChanged"; title: string }
  | { type: "session/isReadChanged"; isRead: boolean }
  | { type: "session/isArchivedChanged"; isArchived: boolean }
  | { type: "session/activityChanged"; activity?: string }
  | { type: "session/changesetsChanged"; changesets?: Changeset[] }
  | { type: "session/configChanged"; config: JsonObject; replace?: boolean }
  | { type: "session/metaChanged"; _meta?: JsonObject }
  | { type: "session/serverToolsChanged"; tools: ToolDefinition[] }
  | { type: "session/activeClientSet"; activeClient: ActiveClient }
  | { type: "session/activeClientRemoved"; clientId: string }
  | { type: "session/workingDirectorySet"; directory: URI }
  | { type: "session/workingDirectoryRemoved"; directory: URI }
  | { type: "session/workingDirectoryReplaced"; directory: URI; replacement: URI }
  | { type: "session/inputNeededSet"; request: SessionInputRequest }
  | { type: "session/inputNeededRemoved"; id: string }
  | { type: "session/customizationsChanged"; customizations: Customization[] }
  | { type: "session/customizationToggled"; id: string; enablement: Enablement[] }
  | { type: "session/customizationUpdated"; customization: Customization }
  | { type: "session/customizationRemoved"; id: string }
  | { type: "session/mcpServerStateChanged"; id: string; state: McpServerState; channel?: URI }
  | { type: "session/mcpServerStartRequested"; id: string }
  | { type: "session/mcpServerStopRequested"; id: string }
  | { type: "session/mcpServerBackgroundRequested"; id: string };

interface OfCall {
  turnId: string;
  toolCallId: string;
  _meta?: JsonObject;
}

export type ToolCallAction =
  | (OfCall & {
      type: "chat/toolCallStart";
      toolName: string;
      displayName: string;
      intention?: string;
      contributor?: ToolCallContributor;
    })
  | (OfCall & { type: "chat/toolCallDelta"; content?: string; invocationMessage?: StringOrMarkdown })
  | (OfCall & {
      type: "chat/toolCallReady";
      contributor?: ToolCallContributor;
      intention?: string;
      invocationMessage: StringOrMarkdown;
      toolInput?: ToolInput;
      confirmationTitle?: StringOrMarkdown;
      riskAssessment?: RiskAssessment;
      edits?: { items: FileEdit[] };
      editable?: boolean;
      confirmed?: ConfirmationReason;
      options?: ConfirmationOption[];
    })
  | (OfCall & {
      type: "chat/toolCallConfirmed";
      approved: boolean;
      confirmed?: ConfirmationReason;
      reason?: CancellationReason;
      editedToolInput?: string;
      userSuggestion?: Message;
      reasonMessage?: StringOrMarkdown;
      selectedOptionId?: string;
    })
  | (OfCall & {
      type: "chat/toolCallComplete";
      result: ToolCallResult;
      requiresResultConfirmation?: boolean;
    })
  | (OfCall & { type: "chat/toolCallResultConfirmed"; approved: boolean })
  | (OfCall & { type: "chat/toolCallContentChanged"; content: ToolResultContent[] })
  | (OfCall & { type: "chat/toolCallAuthRequired"; auth: AuthRequirement })
  | (OfCall & { type: "chat/toolCallAuthResolved" });

export type ChatAction =
  | ToolCallAction
  | {
      type: "chat/turnStarted";
      turnId: string;
      startedAt: string;
      message: Message;
      queuedMessageId?: string;
    }
  | { type: "chat/delta"; turnId: string; partId: string; content: string }
  | { type: "chat/reasoning"; turnId: string; partId: string; content: string }
  | { type: "chat/responsePart"; turnId: string; part: ResponsePart }
  | { type: "chat/turnComplete"; turnId: string; duration: number }
  | { type: "chat/turnCancelled"; turnId: string; duration: number }
  | { type: "chat/error"; turnId: string; duration: number; part: ErrorPart }
  | { type: "chat/turnResume"; turnId: string }
  | { type: "chat/activityChanged"; activity?: string }
  | { type: "chat/backgroundWorkSet"; work: BackgroundWork }
  | { type: "chat/backgroundWorkRemoved"; id: string }
  | { type: "chat/movableChanged"; movable: boolean }
  | { type: "chat/changesetsChanged"; changesets?: Changeset[] }
  | { type: "chat/canvasesChanged"; canvases?: { resource: URI }[] }
  | { type: "canvas/stateChanged"; canvas: CanvasState }
  | { type: "chat/workingDirectorySet"; directory: URI }
  | { type: "chat/workingDirectoryRemoved"; directory: URI }
  | { type: "chat/usage"; turnId: string; usage: UsageInfo }
  | { type: "chat/pendingMessageSet"; kind: PendingMessageKind; id: string; message: Message }
  | { type: "chat/pendingMessageRemoved"; kind: PendingMessageKind; id: string }
  | { type: "chat/queuedMessagesReordered"; order: string[] }
  | { type: "chat/draftChanged"; draft?: Message }
  | { type: "chat/isReadChanged"; isRead: boolean }
  | { type: "chat/isArchivedChanged"; isArchived: boolean }
  | { type: "chat/inputRequested"; request: InputRequest }
  | { type: "chat/inputAnswerChanged"; requestId: string; questionId: string; answer?: InputAnswer }
  | {
      type: "chat/inputCompleted";
      requestId: string;
      response: InputResponseKind;
      answers?: Record<string, InputAnswer>;
    }
  | { type: "chat/truncated"; turnId?: string }
  | { type: "chat/turnsLoaded"; turns: Turn[]; turnsNextCursor?: string };

export type TerminalAction =
  | { type: "terminal/data"; data: string }
  | { type: "terminal/input"; data: string }
  | { type: "terminal/resized"; cols: number; rows: number }
  | { type: "terminal/claimed"; claim: TerminalClaim }
  | { type: "terminal/titleChanged"; title: string }
  | { type: "terminal/cwdChanged"; cwd: URI }
  | { type: "terminal/exited"; exitCode?: number }
  | { type: "terminal/cleared" }
  | { type: "terminal/commandDetectionAvailable" }
  | { type: "terminal/commandExecuted"; commandId: string; commandLine: string; timestamp: number }
  | { type: "terminal/commandFinished"; commandId: string; exitCode?: number; durationMs?: number };

export type ChangesetAction =
  | { type: "changeset/statusChanged"; status: ChangesetStatus; error?: ErrorInfo }
  | { type: "changeset/fileSet"; file: ChangesetFile }
  | { type: "changeset/fileRemoved"; fileId: string }
  | { type: "changeset/filesReviewChanged"; files: string[]; reviewed: boolean }
  | { type: "changeset/contentChanged"; files: ChangesetFile[]; operations?: ChangesetOperation[] }
  | { type: "changeset/operationsChanged"; operations?: ChangesetOperation[] }
  | {
      type: "changeset/operationStatusChanged";
      operationId: string;
      status: OperationStatus;
      error?: ErrorInfo;
    }
  | { type: "changeset/cleared" };

export type AnnotationsAction =
  | { type: "annotations/set"; annotation: Annotation }
  | {
      type: "annotations/updated";
      annotationId: string;
      origin?: AnnotationOrigin;
      resource?: URI;
      range?: TextRange;
      resolved?: boolean;
    }
  | { type: "annotations/removed"; annotationId: string }
  | { type: "annotations/entrySet"; annotationId: string; entry: AnnotationEntry }
  | { type: "annotations/entryRemoved"; annotationId: string; entryId: string };

export type AutomationAction =
  | { type: "automation/createRequested"; resource: URI; definition: AutomationDefinition }
  | { type: "automation/updateRequested"; resource: URI; changes: Partial<AutomationDefinition> }
  | { type: "automation/set"; automation: AutomationEntry }
  | { type: "automation/removed"; resource: URI };

export type AutomationRunAction =
  | { type: "automationRun/lifecycleChanged"; lifecycle: AutomationRunLifecycle }
  | { type: "automationRun/sessionSet"; session: URI }
  | { type: "automationRun/sessionRemoved"; session: URI }
  | { type: "automationRun/primarySessionChanged"; primarySession?: URI }
  | { type: "automationRun/cancelRequested" };

export type StateAction =
  | RootAction
  | SessionAction
  | ChatAction
  | TerminalAction
  | ChangesetAction
  | AnnotationsAction
  | AutomationAction
  | AutomationRunAction;

export interface ActionEnvelope {
  channel: URI;
  action: StateAction;
  serverSeq: number;
  origin?: { clientId: string; clientSeq: number };
  rejectionReason?: string;
  _meta?: JsonObject;
}

export interface Snapshot {
  resource: URI;
  state: unknown;
  fromSeq: number;
}
