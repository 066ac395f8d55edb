// From a chat's state to the flat timeline. Parts and turns are immutable, so
// what has been derived once is kept with them: a delta costs one entry.

import type { ActiveTurn, ChatState, Message, ResponsePart, ToolCall, Turn } from "../protocol/types";
import type { ImageContent, ToolPhase, ToolStepData, UiMessage } from "./appState";
import { headline, plain } from "../lib/text";
import { takenUp } from "./steering";

const ofTurn = new WeakMap<Turn | ActiveTurn, UiMessage[]>();
const ofPart = new WeakMap<ResponsePart, UiMessage>();

export function timeline(chat: ChatState, shellPrefix?: string): UiMessage[] {
  const entries: UiMessage[] = [];
  for (const turn of chat.turns) entries.push(...entriesOf(turn, shellPrefix));
  if (chat.activeTurn) entries.push(...entriesOf(chat.activeTurn, shellPrefix));
  return entries;
}

/** Messages that wait for the running turn, the steering one first. */
export function scheduled(chat: ChatState): UiMessage[] {
  const steering = chat.steeringMessage ? [waiting(chat.steeringMessage, "steering")] : [];
  return [...steering, ...(chat.queuedMessages ?? []).map((entry) => waiting(entry, "queued"))];
}

function waiting(entry: { id: string; message: Message }, how: "steering" | "queued"): UiMessage {
  return { ...userEntry(entry.id, entry.message), scheduled: how };
}

function entriesOf(turn: Turn | ActiveTurn, shellPrefix: string | undefined): UiMessage[] {
  const known = ofTurn.get(turn);
  if (known) return known;
  const first = userEntry(`${turn.id}/message`, turn.message);
  first.turnId = turn.id;
  first.turn = {
    state: "state" in turn ? turn.state : "running",
    startedAt: turn.startedAt,
    duration: "duration" in turn ? turn.duration : undefined,
    usage: turn.usage,
  };
  const parts = turn.responseParts.map((part, index) => partEntry(turn.id, part, index));
  const entries = isShell(turn, shellPrefix) ? shellEntries(first, parts, shellPrefix) : [first, ...parts];
  ofTurn.set(turn, entries);
  return entries;
}

/** Who writes messages besides people. */
const WRITERS: Record<string, string> = { agent: "The agent", tool: "A tool call", automation: "An automation", systemNotification: "The host" };

function userEntry(id: string, message: Message): UiMessage {
  const isPerson = message.origin.kind === "user";
  const from = WRITERS[message.origin.kind];
  const images = (message.attachments ?? []).flatMap(imageOf);
  const others = message.attachments?.filter((attachment) => imageOf(attachment).length === 0);
  return {
    id,
    kind: isPerson ? "user" : "system",
    text: message.text,
    ...(from ? { from } : {}),
    ...(images.length ? { images } : {}),
    ...(others?.length ? { attachments: others } : {}),
  };
}

function imageOf(attachment: NonNullable<Message["attachments"]>[number]): ImageContent[] {
  if (attachment.type !== "embeddedResource" || !attachment.contentType.startsWith("image/")) return [];
  return [{ label: attachment.label, src: `data:${attachment.contentType};base64,${attachment.data}` }];
}

function partEntry(turnId: string, part: ResponsePart, index: number): UiMessage {
  const known = ofPart.get(part);
  // The same part may stand in two chats: a fork shares its history.
  if (known?.turnId === turnId) return known;
  const entry = { ...newEntry(`${turnId}/${index}`, part), turnId };
  ofPart.set(part, entry);
  return entry;
}

function newEntry(id: string, part: ResponsePart): UiMessage {
  switch (part.kind) {
    case "markdown":
      return { id, kind: "assistant", text: part.content };
    case "reasoning":
      return { id, kind: "thinking", text: part.content };
    case "contentRef": {
      const { kind: _, ...contentRef } = part;
      return { id, kind: "assistant", text: "", contentRef };
    }
    case "systemNotification": {
      const taken = takenUp(part);
      if (taken) return { ...userEntry(id, taken.message), kind: "user", steeringId: taken.id };
      return { id, kind: "system", text: plain(part.content) };
    }
    case "inputRequest": {
      const { request, response } = part;
      return { id, kind: "system", text: request.message ?? "", question: { request, response } };
    }
    case "error": {
      const { error, resumable } = part;
      return { id, kind: "error", text: error.message, errorType: error.errorType, resumable: resumable === true };
    }
    case "toolCall":
      return { id, kind: "tool", text: titleOf(part.toolCall), toolStep: stepOf(part.toolCall), toolCall: part.toolCall };
    default:
      return { id, kind: "system", text: "" };
  }
}

/** The call in one line. What an agent says beyond that stands in the call's body. */
export function titleOf(call: ToolCall): string {
  const done = call.status === "completed" || call.status === "pending-result-confirmation";
  const message = done ? call.pastTenseMessage : call.invocationMessage;
  return headline(message ?? "") || call.displayName || call.toolName;
}

/** What an agent says about a call beyond its first line: a plan, a request in words. */
export function detailsOf(call: ToolCall): string {
  const text = plain(call.invocationMessage ?? "").trim();
  const end = text.indexOf("\n");
  return end < 0 ? "" : text.slice(end).trim();
}

export function stepOf(call: ToolCall): ToolStepData {
  const input = call.status === "streaming" ? call.partialInput : call.toolInput;
  const toolArgs = typeof input === "string" ? input : "";
  return { toolName: call.toolName, toolArgs, phase: phaseOf(call), result: resultOf(call) };
}

function phaseOf(call: ToolCall): ToolPhase {
  switch (call.status) {
    case "streaming":
      return "calling";
    case "pending-confirmation":
      return "confirm";
    case "auth-required":
      return "auth";
    case "pending-result-confirmation":
      return "confirm-result";
    case "completed":
      return call.success ? "done" : "error";
    case "cancelled":
      return "cancelled";
    default:
      return "running";
  }
}

function resultOf(call: ToolCall): string | undefined {
  if (!("content" in call) || !call.content) return undefined;
  const texts = call.content.flatMap((item) => {
    if (item.type === "text") return [item.text];
    return item.type === "terminal" && item.result?.preview ? [item.result.preview] : [];
  });
  return texts.length ? texts.join("\n") : undefined;
}

function isShell(turn: Turn | ActiveTurn, prefix: string | undefined): boolean {
  return !!prefix && turn.message.origin.kind === "user" && turn.message.text.startsWith(prefix);
}

/** A command typed by the user and its outcome are one entry. */
function shellEntries(first: UiMessage, parts: UiMessage[], prefix = ""): UiMessage[] {
  const runs = parts.filter((part) => part.toolCall && terminalOf(part.toolCall));
  const [run] = runs;
  const result = run?.toolCall && terminalOf(run.toolCall)?.result;
  const command = first.text.slice(prefix.length).trim();
  const bashResult = { command, output: run?.toolStep?.result ?? "", exitCode: result?.exitCode };
  const entry: UiMessage = { ...first, kind: "bash", bashResult };
  if (run?.toolCall) entry.toolCall = run.toolCall;
  return [entry, ...parts.filter((part) => part !== run)];
}

export function terminalOf(call: ToolCall) {
  if (!("content" in call)) return undefined;
  return call.content?.find((item) => item.type === "terminal");
}
