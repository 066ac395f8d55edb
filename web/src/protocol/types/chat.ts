// A chat channel: turns, the running turn, what waits, the draft.

import type { ChangesSummary, ContentRef, JsonObject, StringOrMarkdown, URI, UsageInfo } from "./common";
import type { InputRequest, InputResponseKind } from "./inputRequest";
import type { Message, PendingMessage } from "./message";
import type { ErrorPart, ToolCall } from "./toolCall";
import type { Changeset } from "./changeset";

export type ResponsePart =
  | { kind: "markdown"; id: string; content: string }
  | { kind: "reasoning"; id: string; content: string }
  | ({ kind: "contentRef" } & ContentRef)
  | { kind: "toolCall"; toolCall: ToolCall }
  | { kind: "systemNotification"; content: StringOrMarkdown; _meta?: JsonObject }
  | { kind: "inputRequest"; request: InputRequest; response?: InputResponseKind }
  | ErrorPart;

export type TurnState = "complete" | "cancelled" | "error";

export interface ActiveTurn {
  id: string;
  startedAt: string;
  message: Message;
  responseParts: ResponsePart[];
  usage?: UsageInfo;
}

export interface Turn extends Omit<ActiveTurn, "startedAt"> {
  startedAt?: string;
  duration?: number;
  state: TurnState;
}

export type ChatOrigin =
  | { kind: "user" }
  | { kind: "fork"; chat: URI; turnId: string }
  | { kind: "sideChat"; chat: URI; turnId: string }
  | { kind: "tool"; chat: URI; toolCallId: string };

export type ChatInteractivity = "full" | "read-only" | "hidden";

export type BackgroundWork = {
  id: string;
  label: string;
  startedAt: string;
  _meta?: JsonObject;
} & ({ kind: "shell"; command: string; terminal?: URI } | { kind: "subagent"; chat: URI });

export interface ChatSummary {
  resource: URI;
  title: string;
  status: number;
  activity?: string;
  modifiedAt: string;
  changes?: ChangesSummary;
  origin?: ChatOrigin;
  movable?: boolean;
  interactivity?: ChatInteractivity;
  workingDirectories?: URI[];
}

export interface ChatState extends ChatSummary {
  changesets?: Changeset[];
  backgroundWork?: BackgroundWork[];
  canvases?: { resource: URI }[];
  turns: Turn[];
  turnsNextCursor?: string;
  activeTurn?: ActiveTurn;
  steeringMessage?: PendingMessage;
  queuedMessages?: PendingMessage[];
  draft?: Message;
  _meta?: JsonObject;
}

/** A page elsewhere that shows something of the chat. */
export interface CanvasState {
  instanceId: string;
  extensionId: string;
  extensionName?: string;
  canvasId: string;
  title?: string;
  status?: string;
  /** Absent while its provider is not there. */
  url?: string;
}
