// What the views read. Everything here is immutable; a new `AppState` is
// published at most once a frame, and at once for what the user does.

import type {
  ChatState,
  ContentRef,
  Implementation,
  InputRequest,
  InputResponseKind,
  MessageAttachment,
  ModelSelection,
  RootState,
  SessionState,
  SessionSummary,
  ToolCall,
  TurnState,
  URI,
  UsageInfo,
} from "../protocol/types";
import type { Decisions } from "./decisions";
import type { Draft } from "./drafts";
import type { InboxItem } from "./inbox";
import type { Pace } from "./pace";
import type { ChannelState } from "./reducers";
import type { Waiting } from "./waiting";

export type ThinkingLevel = string;

export interface ContextUsage {
  used: number;
  window: number | undefined;
  usage: UsageInfo;
}

export type ToolPhase =
  | "calling"
  | "confirm"
  | "running"
  | "auth"
  | "confirm-result"
  | "done"
  | "error"
  | "cancelled";

export interface ToolStepData {
  toolName: string;
  toolArgs: string;
  phase: ToolPhase;
  result?: string;
}

export interface BashResultData {
  command: string;
  output: string;
  exitCode: number | undefined;
}

export interface ImageContent {
  label: string;
  /** Ready for an `img`: a data address. */
  src: string;
}

export type UiMessageKind = "user" | "assistant" | "thinking" | "tool" | "error" | "system" | "bash";

/** One entry of the timeline. */
export interface UiMessage {
  id: string;
  kind: UiMessageKind;
  text: string;
  /** Who wrote a message that no person wrote. */
  from?: string;
  toolStep?: ToolStepData;
  bashResult?: BashResultData;
  images?: ImageContent[];
  /** The turn it belongs to; scheduled messages have none yet. */
  turnId?: string;
  /** On what begins a turn: when, how long, how it ended. */
  turn?: { startedAt?: string; duration?: number; state: TurnState | "running"; usage?: UsageInfo };
  toolCall?: ToolCall;
  question?: { request: InputRequest; response?: InputResponseKind };
  contentRef?: ContentRef;
  attachments?: MessageAttachment[];
  /** On errors: whether the turn can go on from here. */
  resumable?: boolean;
  errorType?: string;
  /** On a steering message that the agent took up in the middle of a turn: its id. */
  steeringId?: string;
  /** On scheduled messages: how they wait. */
  scheduled?: "steering" | "queued";
}

export type ConnectionPhase = "connecting" | "connected" | "reconnecting" | "refused";

export interface ConnectionState {
  phase: ConnectionPhase;
  attempt: number;
  reason?: string;
  server?: Implementation;
  defaultDirectory?: URI;
  completionTriggers: readonly string[];
  shellPrefix?: string;
  /** Where the host tells of its own work: channels, one of them with `{level}`. */
  telemetry?: { logs?: URI; traces?: URI; metrics?: URI };
}

export interface Notice {
  id: number;
  tone: "info" | "error";
  text: string;
  /** How often the same was said while it stood there. */
  times?: number;
  /** Something to do about it, or somewhere to go. */
  action?: { label: string; run: () => void } | { label: string; href: string };
}

export interface AppState {
  connected: boolean;
  connection: ConnectionState;
  streaming: boolean;
  messages: UiMessage[];
  scheduledMessages: UiMessage[];
  sessions: SessionSummary[];
  /** Whether the catalogue has been read at least once. */
  sessionsLoaded: boolean;
  currentSessionId: URI | null;
  currentChatId: URI | null;
  sidebarOpen: boolean;
  contextUsage: ContextUsage | undefined;
  thinkingLevel: ThinkingLevel | undefined;
  model: ModelSelection | undefined;
  root: RootState | undefined;
  session: SessionState | undefined;
  chat: ChatState | undefined;
  inbox: InboxItem[];
  /** What waits for a decision in the current session, the current chat's first. */
  waiting: readonly Waiting[];
  /** Which of it is shown at the editor. */
  dockedId: string | null;
  /** Messages of the current chat that wait for a connection, by id. */
  unsent: readonly string[];
  /** What stands in the editors, by chat. */
  drafts: ReadonlyMap<URI, Draft>;
  /** Who decided on a call or a question, or said a message, as far as seen. */
  decisions: Decisions;
  /** How long things take, as far as seen. */
  pace: Pace;
  notices: readonly Notice[];
  /** What the host says about sessions that it is starting for this client. */
  starting: ReadonlyMap<URI, string>;
  channels: ReadonlyMap<URI, ChannelState>;
}
