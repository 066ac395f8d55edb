// Attempts: sessions that were given the same prompt, each in a working tree of
// its own, to be compared.

import type { ChatState, JsonObject, SessionState, SessionSummary, URI, UsageInfo } from "../protocol/types";
import { costIn } from "./model";
import type { Cost } from "./model";

export interface Attempt {
  /** The same for all attempts of one prompt. */
  id: string;
  /** Counted from 1. */
  number: number;
  count: number;
  /** What the working tree was made for. */
  directory?: URI;
}

/** More than this nobody compares at a glance. */
export const MOST_ATTEMPTS = 4;

export function attemptOf(session: { _meta?: JsonObject } | undefined): Attempt | undefined {
  const found = (session?._meta?.innkeeper as { attempt?: Partial<Attempt> } | undefined)?.attempt;
  if (typeof found?.id !== "string" || typeof found.number !== "number" || typeof found.count !== "number") return undefined;
  const { id, number, count, directory } = found;
  return { id, number, count, ...(typeof directory === "string" ? { directory } : {}) };
}

/** All attempts of one prompt, in their order. */
export function attemptsOf(sessions: readonly SessionSummary[], id: string): SessionSummary[] {
  const numbered = sessions.flatMap((session) => {
    const attempt = attemptOf(session);
    return attempt?.id === id ? [{ session, number: attempt.number }] : [];
  });
  return numbered.sort((a, b) => a.number - b.number).map(({ session }) => session);
}

/** Where everything stands that an attempt has changed. */
export function changesOfSession(session: SessionState | undefined): URI | undefined {
  return session?.changesets?.find(({ changeKind, uriTemplate }) => changeKind === "session" && !uriTemplate.includes("{"))?.uriTemplate;
}

export interface Outcome {
  /** What the agent said last. */
  answer: string;
  isRunning: boolean;
  startedAt: string | undefined;
  /** How long finished turns took, in milliseconds. */
  duration: number;
  inputTokens: number;
  outputTokens: number;
  cost: Cost | undefined;
}

/** What became of an attempt so far. */
export function outcomeOf({ turns, activeTurn }: Pick<ChatState, "turns" | "activeTurn">): Outcome {
  const all = [...turns, ...(activeTurn ? [activeTurn] : [])];
  const usages = all.flatMap(({ usage }) => (usage ? [usage] : []));
  const sum = (of: (usage: UsageInfo) => number | undefined) => usages.reduce((total, usage) => total + (of(usage) ?? 0), 0);
  return {
    answer: lastWords(all),
    isRunning: activeTurn !== undefined,
    startedAt: activeTurn?.startedAt,
    duration: turns.reduce((total, { duration }) => total + (duration ?? 0), 0),
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    cost: costOf(usages),
  };
}

function lastWords(turns: readonly Pick<ChatState["turns"][number], "responseParts">[]): string {
  const parts = turns.at(-1)?.responseParts ?? [];
  for (const part of parts.toReversed()) if (part.kind === "markdown" && part.content.trim()) return part.content;
  return "";
}

/** What the agent says the conversation has cost, or else what its turns have, if they are all in one currency. */
function costOf(usages: readonly UsageInfo[]): Cost | undefined {
  const whole = costIn(usages.at(-1), "sessionCost");
  if (whole) return whole;
  const costs = usages.flatMap((usage) => costIn(usage, "cost") ?? []);
  const [first] = costs;
  if (!first || costs.some(({ currency }) => currency !== first.currency)) return undefined;
  return { amount: costs.reduce((total, { amount }) => total + amount, 0), currency: first.currency };
}
