// What was said in all sessions: what the host finds, and how it is shown. The
// host says whether it can look (docs/search.md).

import type { RootState, URI } from "../protocol/types";

export const SEARCH = "innkeeper/searchSessions";
export const USAGE = "innkeeper/usage";

export type Field = "title" | "message" | "answer" | "tool" | "reasoning";

export const FIELD_LABELS: Record<Field, string> = { title: "Title", message: "Prompt", answer: "Answer", tool: "Tool call", reasoning: "Thinking" };

export interface Found {
  session: URI;
  sessionTitle: string;
  provider: string;
  archived: boolean;
  chat: URI;
  chatTitle: string;
  turnId?: string;
  at: string;
  field: Field;
  snippet: Snippet;
}

export interface Snippet {
  text: string;
  /** What was looked for, in code units: in order, without overlaps. */
  marks: [start: number, end: number][];
}

export interface SearchResult {
  items: Found[];
  nextCursor?: string;
  truncated?: boolean;
  indexing?: boolean;
}

export interface UsageItem {
  day: string;
  provider: string;
  model?: string;
  turns: number;
  inputTokens?: number;
  outputTokens?: number;
  cacheReadTokens?: number;
  cost?: { amount: number; currency: string };
}

/** Whether the host answers a request that the protocol does not have. */
export function knows(root: RootState | undefined, request: string): boolean {
  const ours = root?._meta?.innkeeper as { extensions?: Record<string, unknown> } | undefined;
  return typeof ours?.extensions?.[request] === "number";
}

/** A snippet as pieces of text; those that were looked for are marked. */
export function piecesOf({ text, marks }: Snippet): { text: string; isMarked: boolean }[] {
  const pieces: { text: string; isMarked: boolean }[] = [];
  let at = 0;
  for (const [start, end] of marks) {
    if (!(start >= at && end > start && end <= text.length)) continue;
    if (start > at) pieces.push({ text: text.slice(at, start), isMarked: false });
    pieces.push({ text: text.slice(start, end), isMarked: true });
    at = end;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), isMarked: false });
  return pieces;
}

export interface Day {
  day: string;
  turns: number;
  tokens: number;
  costs: { amount: number; currency: string }[];
}

/** What was used on each day, whoever used it; money by currency. */
export function byDay(items: readonly UsageItem[]): Day[] {
  const days = new Map<string, Day>();
  for (const { day, turns, inputTokens = 0, outputTokens = 0, cost } of items) {
    const known = days.get(day) ?? { day, turns: 0, tokens: 0, costs: [] };
    const costs = !cost
      ? known.costs
      : known.costs.some(({ currency }) => currency === cost.currency)
        ? known.costs.map((one) => (one.currency === cost.currency ? { ...one, amount: one.amount + cost.amount } : one))
        : [...known.costs, cost];
    days.set(day, { day, turns: known.turns + turns, tokens: known.tokens + inputTokens + outputTokens, costs });
  }
  return [...days.values()].sort((a, b) => (a.day < b.day ? 1 : -1));
}
