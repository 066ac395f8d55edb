// The timeline as rows: a turn is a user message with what follows, grouped
// here, and folded to one row where the reader wants that.

import type { UiMessage } from "./appState";

/** What is left of a turn that is folded. */
export interface FoldedTurn {
  tools: number;
  hasFailed: boolean;
  /** The last thing that was said. */
  answer: string;
}

export interface Row {
  message: UiMessage;
  /** On the last entry of a finished turn: the entry that began it. */
  turnStart?: UiMessage;
  /** On the first entry of a finished turn that has more than that. */
  canFold: boolean;
  folded?: FoldedTurn;
}

interface Known {
  isFolded: boolean;
  last: UiMessage;
  length: number;
  rows: Row[];
}

/** Entries are immutable: the rows of a turn are made again when it changes. */
const known = new WeakMap<UiMessage, Known>();

export function rowsOf(messages: readonly UiMessage[], folded: ReadonlySet<string>): Row[] {
  const rows: Row[] = [];
  for (let start = 0; start < messages.length; ) {
    let end = start + 1;
    while (end < messages.length && messages[end]?.turn === undefined) end++;
    for (const row of turnRows(messages, start, end, folded)) rows.push(row);
    start = end;
  }
  return rows;
}

function turnRows(messages: readonly UiMessage[], start: number, end: number, folded: ReadonlySet<string>): Row[] {
  const first = messages[start];
  const last = messages[end - 1];
  if (!first || !last) return [];
  const length = end - start;
  const isFolded = first.turnId !== undefined && folded.has(first.turnId) && mayFold(first, length);
  const before = known.get(first);
  if (before?.isFolded === isFolded && before.last === last && before.length === length) return before.rows;
  const rows = isFolded ? [foldedRow(first, messages.slice(start + 1, end))] : openRows(messages.slice(start, end));
  known.set(first, { isFolded, last, length, rows });
  return rows;
}

function openRows(turn: readonly UiMessage[]): Row[] {
  const [first] = turn;
  const isOver = first?.turn !== undefined && first.turn.state !== "running";
  return turn.map((message, index) => ({
    message,
    canFold: index === 0 && mayFold(message, turn.length),
    ...(isOver && index === turn.length - 1 ? { turnStart: first } : {}),
  }));
}

function foldedRow(message: UiMessage, rest: readonly UiMessage[]): Row {
  const answer = rest.findLast(({ kind, text }) => kind === "assistant" && text !== "")?.text ?? "";
  const tools = rest.filter(({ kind }) => kind === "tool").length;
  return { message, canFold: true, folded: { tools, hasFailed: rest.at(-1)?.kind === "error", answer } };
}

function mayFold({ turn }: UiMessage, length: number): boolean {
  return turn !== undefined && turn.state !== "running" && length > 1;
}

/** All turns that can be folded. */
export function foldable(messages: readonly UiMessage[]): string[] {
  return rowsOf(messages, new Set()).flatMap(({ message, canFold }) => (canFold && message.turnId ? [message.turnId] : []));
}
