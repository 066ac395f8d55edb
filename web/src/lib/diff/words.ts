// Which words of a changed line changed: the same comparison as of lines, over
// the words of one line.

import { diffLines } from "./lines";
import type { Change } from "./lines";

/** From one character to another, the second not included. */
export type Span = [start: number, end: number];

/** Longer lines are generated; nobody reads them word by word. */
const LONGEST = 2_000;
/** With less than this in common, a line was not changed but replaced. */
const ALIKE = 0.35;

const WORDS = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;

export function changedWords(before: string, after: string): { before: Span[]; after: Span[] } | undefined {
  if (before === after || before.length > LONGEST || after.length > LONGEST) return undefined;
  const changes = diffLines(before.match(WORDS) ?? [], after.match(WORDS) ?? []);
  const common = changes.reduce((sum, { kind, text }) => sum + (kind === "same" ? text.trim().length : 0), 0);
  const longest = Math.max(before.trim().length, after.trim().length);
  if (longest === 0 || common / longest < ALIKE) return undefined;
  return { before: spans(changes, "removed"), after: spans(changes, "added") };
}

function spans(changes: readonly Change[], wanted: "removed" | "added"): Span[] {
  const found: Span[] = [];
  let at = 0;
  for (const { kind, text } of changes) {
    if (kind !== "same" && kind !== wanted) continue;
    const end = at + text.length;
    const last = found.at(-1);
    if (kind === wanted && last?.[1] === at) last[1] = end;
    else if (kind === wanted) found.push([at, end]);
    at = end;
  }
  return found;
}

/**
 * The marks of changed lines: what went is compared with what came in its
 * place. A line costs something when it is asked for, and once.
 */
export function wordMarks(changes: readonly Change[]): (change: Change) => Span[] | undefined {
  const pairs = pairsOf(changes);
  const known = new Map<Change, Span[] | undefined>();
  return (change) => {
    const other = pairs.get(change);
    if (!other) return undefined;
    if (!known.has(change)) {
      const [old, now] = change.kind === "removed" ? [change, other] : [other, change];
      const words = changedWords(old.text, now.text);
      known.set(old, words?.before);
      known.set(now, words?.after);
    }
    return known.get(change);
  };
}

/** Lines that went with those that came in their place, and the other way round. */
function pairsOf(changes: readonly Change[]): Map<Change, Change> {
  const pairs = new Map<Change, Change>();
  let removed: Change[] = [];
  let added: Change[] = [];
  const flush = () => {
    for (const [at, old] of removed.entries()) {
      const now = added[at];
      if (!now) break;
      pairs.set(old, now);
      pairs.set(now, old);
    }
    removed = [];
    added = [];
  };
  for (const change of changes) {
    if (change.kind === "removed") removed.push(change);
    else if (change.kind === "added") added.push(change);
    else flush();
  }
  flush();
  return pairs;
}
