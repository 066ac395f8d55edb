// The timeline as rows: a turn is a user message with what follows, grouped
// here, and folded to one row where the reader wants that. Within a turn,
// neighbouring tool calls are a group: open while it grows, a line afterwards,
// next to which everything stays that somebody has to know of.

import type { ToolCall } from "../protocol/types";
import type { UiMessage } from "./appState";
import { hasFailed, kindOf } from "./toolKinds";

/** What is left of a turn that is folded. */
export interface FoldedTurn {
  tools: number;
  hasFailed: boolean;
  /** The last thing that was said. */
  answer: string;
}

/** Neighbouring calls as one line. */
export interface Group {
  id: string;
  calls: readonly ToolCall[];
  isOpen: boolean;
  /** Whether more may come to it. */
  isLive: boolean;
}

export interface Row {
  /** What the row is called in the list. */
  key: string;
  message: UiMessage;
  /** The row is the line of a group; `message` is its first call. */
  group?: Group;
  /** The row stands below such a line. */
  isInGroup?: boolean;
  /** On the last entry of a finished turn: the entry that began it, and all that was answered. */
  turnStart?: UiMessage;
  answer?: string;
  /** On the first entry of a finished turn that has more than that. */
  canFold: boolean;
  folded?: FoldedTurn;
}

/** What the reader has folded and opened. */
export interface Folding {
  /** Turns that are folded, by id. */
  turns: ReadonlySet<string>;
  /** Groups that the reader opened or closed, by id. */
  groups: ReadonlyMap<string, boolean>;
}

export const UNFOLDED: Folding = { turns: new Set(), groups: new Map() };

interface Known {
  isFolded: boolean;
  groups: Folding["groups"];
  last: UiMessage;
  length: number;
  rows: Row[];
}

/** Entries are immutable: the rows of a turn are made again when it changes. */
const known = new WeakMap<UiMessage, Known>();

export function rowsOf(messages: readonly UiMessage[], folding: Folding): Row[] {
  const rows: Row[] = [];
  for (let start = 0; start < messages.length; ) {
    let end = start + 1;
    while (end < messages.length && messages[end]?.turn === undefined) end++;
    for (const row of turnRows(messages, start, end, folding)) rows.push(row);
    start = end;
  }
  return rows;
}

function turnRows(messages: readonly UiMessage[], start: number, end: number, { turns, groups }: Folding): Row[] {
  const first = messages[start];
  const last = messages[end - 1];
  if (!first || !last) return [];
  const length = end - start;
  const isFolded = first.turnId !== undefined && turns.has(first.turnId) && mayFold(first, length);
  const before = known.get(first);
  if (before?.isFolded === isFolded && before.groups === groups && before.last === last && before.length === length) return before.rows;
  const turn = withoutLateNotices(messages.slice(start, end));
  const rows = isFolded ? [foldedRow(first, turn.slice(1))] : openRows(turn, groups);
  known.set(first, { isFolded, groups, last, length, rows });
  return rows;
}

/** Notices that come while something waits stand before it: nothing comes between it and the reader. */
function withoutLateNotices(turn: readonly UiMessage[]): readonly UiMessage[] {
  const lastNot = turn.findLastIndex((entry) => !isNotice(entry));
  const last = turn[lastNot];
  const waits = last?.toolStep?.phase === "confirm" || last?.toolStep?.phase === "confirm-result" || last?.toolStep?.phase === "auth";
  if (!last || !waits || lastNot === turn.length - 1) return turn;
  return [...turn.slice(0, lastNot), ...turn.slice(lastNot + 1), last];
}

function isNotice({ kind, question, turn }: UiMessage): boolean {
  return kind === "system" && question === undefined && turn === undefined;
}

function openRows(turn: readonly UiMessage[], groups: Folding["groups"]): Row[] {
  const [first] = turn;
  const isOver = first?.turn !== undefined && first.turn.state !== "running";
  const rows: Row[] = [];
  for (let at = 0; at < turn.length; ) {
    const end = runEnd(turn, at);
    const run = end > at ? grouped(turn.slice(at, end), groups, !isOver && end === turn.length) : undefined;
    if (run) rows.push(...run);
    for (const message of run ? [] : turn.slice(at, Math.max(end, at + 1))) rows.push({ key: message.id, message, canFold: false });
    at = Math.max(end, at + 1);
  }
  const [head] = rows;
  const tail = rows.at(-1);
  if (head && first) rows[0] = { ...head, canFold: mayFold(first, turn.length) };
  if (isOver && tail) rows[rows.length - 1] = { ...(rows.at(-1) ?? tail), turnStart: first, answer: answerOf(turn) };
  return rows;
}

/** Where a run of calls ends; thoughts may stand between them. */
function runEnd(turn: readonly UiMessage[], from: number): number {
  if (turn[from]?.kind !== "tool") return from;
  let end = from;
  for (let at = from; at < turn.length; at++) {
    const { kind } = turn[at] ?? {};
    if (kind === "tool") end = at + 1;
    else if (kind !== "thinking") break;
  }
  return end;
}

/** A run as rows, if it is worth a line of its own. */
function grouped(run: readonly UiMessage[], groups: Folding["groups"], isLive: boolean): Row[] | undefined {
  const [message] = run;
  const quiet = run.filter(mayHide);
  if (!message || quiet.filter(({ kind }) => kind === "tool").length < (isLive ? 1 : 2)) return undefined;
  const calls = run.flatMap(({ toolCall }) => toolCall ?? []);
  if (calls.length < 2) return undefined;
  const id = `${message.id}/group`;
  const isOpen = groups.get(id) ?? isLive;
  const hidden = new Set(quiet);
  const hiddenCalls = quiet.flatMap(({ toolCall }) => toolCall ?? []);
  const head: Row = { key: id, message, canFold: false, group: { id, calls: isOpen ? calls : hiddenCalls, isOpen, isLive } };
  const shown = run.filter((entry) => isOpen || !hidden.has(entry));
  return [head, ...shown.map((entry) => ({ key: entry.id, message: entry, isInGroup: true, canFold: false }))];
}

/** Whether nobody misses an entry whose group is closed. */
function mayHide({ kind, toolCall, toolStep }: UiMessage): boolean {
  if (kind === "thinking") return true;
  if (!toolCall || toolStep?.phase !== "done" || hasFailed(toolCall)) return false;
  const about = kindOf(toolCall);
  return about !== "edit" && about !== "subagent";
}

/** All that was said in a turn. */
function answerOf(turn: readonly UiMessage[]): string {
  return turn
    .filter(({ kind, text }) => kind === "assistant" && text !== "")
    .map(({ text }) => text.trim())
    .join("\n\n");
}

function foldedRow(message: UiMessage, rest: readonly UiMessage[]): Row {
  const answer = rest.findLast(({ kind, text }) => kind === "assistant" && text !== "")?.text ?? "";
  const tools = rest.filter(({ kind }) => kind === "tool").length;
  return { key: message.id, message, canFold: true, folded: { tools, hasFailed: rest.at(-1)?.kind === "error", answer } };
}

function mayFold({ turn }: UiMessage, length: number): boolean {
  return turn !== undefined && turn.state !== "running" && length > 1;
}

/** All turns that can be folded. */
export function foldable(messages: readonly UiMessage[]): string[] {
  return rowsOf(messages, UNFOLDED).flatMap(({ message, canFold }) => (canFold && message.turnId ? [message.turnId] : []));
}
