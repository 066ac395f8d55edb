// What people (and queues, and agents) say: messages with their attachments.

import type { JsonObject, TextRange, URI } from "./common";

export interface ModelSelection {
  id: string;
  config?: Record<string, unknown>;
}

export interface AgentSelection {
  uri: URI;
}

interface AttachmentBase {
  label: string;
  range?: TextRange;
  displayKind?: string;
  _meta?: JsonObject;
}

export type MessageAttachment =
  | (AttachmentBase & { type: "simple"; modelRepresentation?: string })
  | (AttachmentBase & { type: "embeddedResource"; data: string; contentType: string })
  | (AttachmentBase & { type: "resource"; uri: URI; contentType?: string; sizeHint?: number })
  | (AttachmentBase & { type: "annotations"; resource: URI; annotationIds?: string[] })
  | (AttachmentBase & { type: "chat"; resource: URI; endTurn?: string });

export interface Message {
  text: string;
  origin: { kind: "user" | "agent" | "tool" | "automation" | "systemNotification" };
  attachments?: MessageAttachment[];
  model?: ModelSelection;
  agent?: AgentSelection;
  _meta?: JsonObject;
}

export type PendingMessageKind = "steering" | "queued";

export interface PendingMessage {
  id: string;
  message: Message;
}
