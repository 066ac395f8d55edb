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
import { MESSAGE_ID } from "../state/channel";
import type { UiMessage } from "../state/appState";
import type { Host } from "./host";
import { newId } from "../lib/id";

export interface Words {
  text: string;
  attachments?: MessageAttachment[];
  model?: ModelSelection;
  agent?: AgentSelection;
}

export type Manner = "send" | "steer" | "queue";

function messageOf({ text, attachments, model, agent }: Words, id: string): Message {
  return {
    text,
    origin: { kind: "user" },
    ...(attachments?.length ? { attachments } : {}),
    ...(model ? { model } : {}),
    ...(agent ? { agent } : {}),
    _meta: { [MESSAGE_ID]: id },
  };
}

/** Begins a turn, steers the running one, or waits behind it. */
export function say({ store }: Host, chat: URI, words: Words, manner: Manner): void {
  const id = newId();
  const message = messageOf(words, id);
  if (manner === "send") {
    const startedAt = new Date().toISOString();
    store.dispatch(chat, { type: "chat/turnStarted", turnId: id, startedAt, message });
  } else {
    const kind = manner === "steer" ? "steering" : "queued";
    store.dispatch(chat, { type: "chat/pendingMessageSet", kind, id, message });
  }
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

export function setDraft({ store }: Host, chat: URI, words: Words | undefined): void {
  const empty = !words || (!words.text && !words.attachments?.length && !words.model && !words.agent);
  const draft: Message | undefined = empty
    ? undefined
    : {
        text: words.text,
        origin: { kind: "user" },
        ...(words.attachments?.length ? { attachments: words.attachments } : {}),
        ...(words.model ? { model: words.model } : {}),
        ...(words.agent ? { agent: words.agent } : {}),
      };
  store.dispatch(chat, { type: "chat/draftChanged", draft });
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
  store.dispatch(chat, {
    type: "chat/toolCallConfirmed",
    turnId,
    toolCallId,
    approved,
    ...(approved ? { confirmed: "user-action" } : { reason: "denied" }),
    ...(option ? { selectedOptionId: option.id } : {}),
    ...(approved && editedInput !== undefined ? { editedToolInput: editedInput } : {}),
    ...(!approved && suggestion
      ? { reasonMessage: suggestion, userSuggestion: { text: suggestion, origin: { kind: "user" } } }
      : {}),
  });
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
  store.dispatch(chat, { type: "chat/inputAnswerChanged", requestId, questionId, ...(answer ? { answer } : {}) });
}

export function completeInput(
  { store }: Host,
  chat: URI,
  requestId: string,
  response: InputResponseKind,
  answers?: Record<string, InputAnswer>,
): void {
  store.dispatch(chat, { type: "chat/inputCompleted", requestId, response, ...(answers ? { answers } : {}) });
}

/** Asks for turns that are older than those at hand. */
export async function loadOlder(host: Host, chat: URI, cursor: string): Promise<void> {
  await host.connection.request("fetchTurns", { channel: chat, cursor }).catch(() => undefined);
}
