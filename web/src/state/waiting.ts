// What waits for a person's decision in the session on screen: first in the
// chat that is open, then in its other chats. Only a turn that runs can wait.

import type { AuthRequiredCall, ChatState, InputRequest, PendingCall, PendingResultCall, SessionInputRequest, SessionState, ToolCall, URI } from "../protocol/types";
import { titleOf } from "./timeline";

/** A decision: where it waits, and what it is about. */
export type Waiting = { id: string; chat: URI; title: string; isElsewhere: boolean } & (
  | { kind: "approval"; turnId: string; call: PendingCall }
  | { kind: "result"; turnId: string; call: PendingResultCall }
  | { kind: "auth"; turnId: string; call: AuthRequiredCall }
  | { kind: "question"; request: InputRequest }
);

const NOTHING: readonly Waiting[] = [];

export function waitingIn(chat: ChatState | undefined, session: SessionState | undefined, before: readonly Waiting[] = NOTHING): readonly Waiting[] {
  const here = chat ? inChat(chat) : [];
  const all = [...here, ...elsewhere(session, chat?.resource)];
  if (all.length === 0) return before.length === 0 ? before : NOTHING;
  const isSame = all.length === before.length && all.every((item, index) => isEqual(item, before[index]));
  return isSame ? before : all;
}

function isEqual(a: Waiting, b: Waiting | undefined): boolean {
  const about = (item: Waiting) => (item.kind === "question" ? item.request : item.call);
  return b !== undefined && a.id === b.id && a.kind === b.kind && about(a) === about(b);
}

function inChat({ resource, activeTurn }: ChatState): Waiting[] {
  return (activeTurn?.responseParts ?? []).flatMap((part): Waiting[] => {
    if (part.kind === "inputRequest") return part.response === undefined ? [question(resource, part.request, false)] : [];
    if (part.kind !== "toolCall") return [];
    return ofCall(resource, activeTurn?.id ?? "", part.toolCall, false);
  });
}

function elsewhere(session: SessionState | undefined, current: URI | undefined): Waiting[] {
  return (session?.inputNeeded ?? []).filter(({ chat }) => chat !== current).flatMap(waitingOf);
}

/** What a session says that it needs, in the same form. */
export function waitingOf(needed: SessionInputRequest): Waiting[] {
  if (needed.kind === "toolClientExecution") return [];
  if (needed.kind === "chatInput") return [question(needed.chat, needed.request, true)];
  return ofCall(needed.chat, needed.turnId, needed.toolCall, true);
}

function question(chat: URI, request: InputRequest, isElsewhere: boolean): Waiting {
  return { id: waitingId(chat, request.id), chat, title: request.message ?? "", isElsewhere, kind: "question", request };
}

function ofCall(chat: URI, turnId: string, call: ToolCall, isElsewhere: boolean): Waiting[] {
  const common = { id: waitingId(chat, call.toolCallId), chat, title: titleOf(call), isElsewhere, turnId };
  switch (call.status) {
    case "pending-confirmation":
      return [{ ...common, kind: "approval", call }];
    case "pending-result-confirmation":
      return [{ ...common, kind: "result", call }];
    case "auth-required":
      return [{ ...common, kind: "auth", call }];
    default:
      return [];
  }
}

type Approvable = Extract<Waiting, { kind: "approval" }>;

/** Requests that ask for exactly the same as another one: to be answered with one press. */
export function alike(items: readonly Waiting[]): Approvable[][] {
  const groups = new Map<string, Approvable[]>();
  for (const item of items) {
    if (item.kind !== "approval" || item.call.edits?.items.length) continue;
    const { toolName, toolInput, options } = item.call;
    // What would be done, and what can be answered.
    if (typeof toolInput !== "string" || toolInput === "") continue;
    const key = JSON.stringify([toolName, toolInput, options?.map(({ id, kind, group }) => [id, kind, group])]);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return [...groups.values()].filter((group) => group.length > 1);
}

export function waitingId(chat: URI, of: string): string {
  return `${chat}#${of}`;
}

/** Where words about a request are written: the reason of a denial, and the edited input. */
export function editorsOf(chat: URI, toolCallId: string): [reason: string, input: string] {
  const id = waitingId(chat, toolCallId);
  return [id, `${id}/input`];
}

/** Where the text of an answer is written. */
export function answerEditor(chat: URI, requestId: string, questionId: string): string {
  return `${waitingId(chat, requestId)}/${questionId}`;
}

/** Whether an editor next to a request belongs to one that can still be decided. */
export function isOpenEditor(key: string, { resource: chat, activeTurn }: ChatState): boolean {
  return (activeTurn?.responseParts ?? []).some((part) => {
    if (part.kind === "inputRequest") return part.response === undefined && key.startsWith(`${waitingId(chat, part.request.id)}/`);
    return part.kind === "toolCall" && part.toolCall.status === "pending-confirmation" && editorsOf(chat, part.toolCall.toolCallId).includes(key);
  });
}

/** Whether what was written next to a question is its answer by now, whoever gave it. */
export function isAnswerIn(key: string, text: string, { resource: chat, activeTurn, turns }: ChatState): boolean {
  const parts = [...(activeTurn?.responseParts ?? []), ...(turns.at(-1)?.responseParts ?? [])];
  return parts.some((part) => {
    if (part.kind !== "inputRequest" || part.response !== "accept") return false;
    return Object.entries(part.request.answers ?? {}).some(([id, answer]) => {
      const said = answer.state === "skipped" ? undefined : answer.value;
      return key === answerEditor(chat, part.request.id, id) && said?.kind === "text" && said.value === text;
    });
  });
}

/**
 * The one that is shown at the editor: what somebody chose, else what was
 * shown before (nothing may take its place under a finger), else the first.
 */
export function dockedId(waiting: readonly Waiting[], chosen: string | null, before: string | null): string | null {
  const isThere = (wanted: string | null) => waiting.some(({ id }) => id === wanted);
  return isThere(chosen) ? chosen : isThere(before) ? before : (waiting[0]?.id ?? null);
}
