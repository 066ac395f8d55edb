// What a person does in a chat, in the protocol's words.

import type {
  AgentSelection,
  ConfirmationOption,
  InputAnswer,
  InputResponseKind,
  Message,
  MessageAttachment,
  ModelSelection,
  URI,
} from "../protocol/types";
import type { UiMessage } from "../state/appState";
import type { Manner } from "../state/spoken";
import { answerEditor } from "../state/waiting";
import { NO_WORDS } from "../state/words";
import type { Host } from "./host";
import { newId } from "../lib/id";

export interface Said {
  text: string;
  attachments?: readonly MessageAttachment[];
  model?: ModelSelection;
  agent?: AgentSelection;
}

function messageOf({ text, attachments, model, agent }: Said): Message {
  return {
    text,
    origin: { kind: "user" },
    ...(attachments?.length ? { attachments: [...attachments] } : {}),
    ...(model ? { model } : {}),
    ...(agent ? { agent } : {}),
  };
}

/** Begins a turn, steers the running one, or waits behind it. */
export function say({ store }: Host, chat: URI, said: Said, manner: Exclude<Manner, "deny">): void {
  store.say(chat, newId(), messageOf(said), manner, new Date().toISOString());
}

/** Begins a turn with a steering message that found nothing to steer. */
export function sendNow(host: Host, chat: URI, { id, scheduled }: UiMessage): void {
  const waiting = host.store.getState().chat?.steeringMessage;
  if (scheduled !== "steering" || waiting?.id !== id) return;
  const { _meta: _, ...message } = waiting.message;
  takeBack(host, chat, { id, scheduled } as UiMessage);
  say(host, chat, message, "send");
}

export function stop({ store }: Host, chat: URI, turnId: string): void {
  store.dispatch(chat, { type: "chat/turnCancelled", turnId, duration: 0 });
}

export function resume({ store }: Host, chat: URI, turnId: string): void {
  store.dispatch(chat, { type: "chat/turnResume", turnId });
}

export function takeBack({ store }: Host, chat: URI, { id, scheduled }: UiMessage): void {
  if (scheduled) store.dispatch(chat, { type: "chat/pendingMessageRemoved", kind: scheduled, id });
}

export function reorder({ store }: Host, chat: URI, order: string[]): void {
  store.dispatch(chat, { type: "chat/queuedMessagesReordered", order });
}

/** Starts what is queued after a turn that was cancelled or failed: the host goes on when somebody confirms the order of the queue. */
export function goOn(host: Host, chat: URI): void {
  const { queuedMessages = [] } = host.store.getState().chat ?? {};
  if (queuedMessages.length > 0) reorder(host, chat, queuedMessages.map(({ id }) => id));
}

/** Tells the host what stands in the editor of a chat. */
export function setDraft({ store }: Host, chat: URI, said: Said): void {
  const isEmpty = !said.text && !said.attachments?.length && !said.model && !said.agent;
  store.dispatch(chat, { type: "chat/draftChanged", draft: isEmpty ? undefined : messageOf(said) });
}

/** Chooses the model or the agent of the next message: the host keeps that with the draft. */
export function choose(host: Host, chat: URI, chosen: Pick<Said, "model" | "agent">): void {
  const draft = host.store.getState().chat?.draft ?? { text: "", origin: { kind: "user" as const } };
  setDraft(host, chat, { ...draft, ...chosen });
}

export interface Decision {
  chat: URI;
  turnId: string;
  toolCallId: string;
}

export interface Verdict {
  approved: boolean;
  option?: ConfirmationOption;
  editedInput?: string;
  /** What the agent should do instead. */
  suggestion?: string;
}

export function decide({ store }: Host, { chat, turnId, toolCallId }: Decision, verdict: Verdict): void {
  const { approved, option, editedInput, suggestion } = verdict;
  const words = approved ? "" : (suggestion ?? "").trim();
  const action = {
    type: "chat/toolCallConfirmed" as const,
    turnId,
    toolCallId,
    approved,
    ...(approved ? { confirmed: "user-action" as const } : { reason: "denied" as const }),
    ...(option ? { selectedOptionId: option.id } : {}),
    ...(approved && editedInput !== undefined ? { editedToolInput: editedInput } : {}),
    ...(words ? { userSuggestion: { text: words, origin: { kind: "user" as const } } } : {}),
  };
  store.decide(chat, action, { ...NO_WORDS, text: words });
}

export function decideResult({ store }: Host, { chat, turnId, toolCallId }: Decision, approved: boolean): void {
  store.dispatch(chat, { type: "chat/toolCallResultConfirmed", turnId, toolCallId, approved });
}

export function draftAnswer(
  { store }: Host,
  chat: URI,
  requestId: string,
  questionId: string,
  answer: InputAnswer | undefined,
): void {
  // What is chosen can be chosen again; what is typed is kept.
  if (!answer || answer.state === "skipped" || answer.value.kind === "text") {
    const text = answer && answer.state !== "skipped" ? String(answer.value.value) : "";
    store.write(answerEditor(chat, requestId, questionId), (known) => ({ ...known, text }));
  }
  store.dispatch(chat, { type: "chat/inputAnswerChanged", requestId, questionId, ...(answer ? { answer } : {}) });
}

export function completeInput(
  { store }: Host,
  chat: URI,
  requestId: string,
  response: InputResponseKind,
  answers?: Record<string, InputAnswer>,
): void {
  const isOfRequest = (key: string) => key.startsWith(answerEditor(chat, requestId, ""));
  store.clear(...[...store.getState().drafts.keys()].filter(isOfRequest));
  store.dispatch(chat, { type: "chat/inputCompleted", requestId, response, ...(answers ? { answers } : {}) });
}

/** Asks for turns that are older than those at hand. */
export async function loadOlder(host: Host, chat: URI, cursor: string): Promise<void> {
  await host.connection.request("fetchTurns", { channel: chat, cursor }).catch(() => undefined);
}
