// A difference as rows to show: changes with some lines around them, and gaps
// that say how much was left out.

import type { Change } from "./lines";

export type Row =
  | { kind: "gap"; count: number; /** Of the first line that is left out, among all changes. */ at: number }
  | { kind: "line"; change: Change; hunk?: Hunk };

export interface Pair {
  kind: "pair";
  left?: Change;
  right?: Change;
  hunk?: Hunk;
}

/** Neighbouring lines that differ; the first row of them has it. Lines count from 0, and the end is not among them. */
export interface Hunk {
  before: { start: number; end: number };
  after: { start: number; end: number };
}

const CONTEXT = 3;
const NONE: ReadonlySet<number> = new Set();

/** `opened` are the gaps that are shown all the same, by where they begin. */
export function unified(changes: Change[], opened: ReadonlySet<number> = NONE, context = CONTEXT): Row[] {
  const isNear = nearChanges(changes, context);
  if (!isNear.includes(true)) return [];
  const rows: Row[] = [];
  for (let index = 0; index < changes.length; index++) {
    let end = index;
    while (end < changes.length && !isNear[end]) end++;
    if (end > index && !opened.has(index)) {
      rows.push({ kind: "gap", count: end - index, at: index });
      index = end - 1;
      continue;
    }
    // An open gap is lines like all others.
    for (let at = index; at < Math.max(end, index + 1); at++) {
      const change = changes[at];
      const hunk = hunkAt(changes, at);
      if (change) rows.push(hunk ? { kind: "line", change, hunk } : { kind: "line", change });
    }
    index = Math.max(end, index + 1) - 1;
  }
  return rows;
}

/** The same rows side by side: what went next to what came. */
export function split(rows: Row[]): (Pair | Extract<Row, { kind: "gap" }>)[] {
  const pairs: (Pair | Extract<Row, { kind: "gap" }>)[] = [];
  let removed: Change[] = [];
  let added: Change[] = [];
  let hunk: Hunk | undefined;
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      const pair: Pair = { kind: "pair", left: removed[at], right: added[at] };
      pairs.push(at === 0 && hunk ? { ...pair, hunk } : pair);
    }
    removed = [];
    added = [];
    hunk = undefined;
  };
  for (const row of rows) {
    if (row.kind === "line") hunk = row.hunk ?? hunk;
    if (row.kind === "line" && row.change.kind === "removed") removed.push(row.change);
    else if (row.kind === "line" && row.change.kind === "added") added.push(row.change);
    else {
      flush();
      if (row.kind === "gap") pairs.push(row);
      else pairs.push({ kind: "pair", left: row.change, right: row.change });
    }
  }
  flush();
  return pairs;
}

function hunkAt(changes: Change[], index: number): Hunk | undefined {
  if (changes[index]?.kind === "same" || (index > 0 && changes[index - 1]?.kind !== "same")) return undefined;
  // What is missing on a side is missing behind the line before.
  const last = changes[index - 1];
  const before = { start: (last?.before ?? -1) + 1, end: (last?.before ?? -1) + 1 };
  const after = { start: (last?.after ?? -1) + 1, end: (last?.after ?? -1) + 1 };
  for (let at = index; at < changes.length; at++) {
    const kind = changes[at]?.kind;
    if (kind === "same") break;
    if (kind === "removed") before.end++;
    else after.end++;
  }
  return { before, after };
}

export function counts(changes: Change[]): { added: number; removed: number } {
  let [added, removed] = [0, 0];
  for (const { kind } of changes) {
    if (kind === "added") added++;
    else if (kind === "removed") removed++;
  }
  return { added, removed };
}

function nearChanges(changes: Change[], context: number): boolean[] {
  const isNear = new Array<boolean>(changes.length).fill(false);
  let last = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < changes.length; at++) {
    if (changes[at]?.kind !== "same") last = at;
    if (at - last <= context) isNear[at] = true;
  }
  let next = Number.POSITIVE_INFINITY;
  for (let at = changes.length - 1; at >= 0; at--) {
    if (changes[at]?.kind !== "same") next = at;
    if (next - at <= context) isNear[at] = true;
  }
  return isNear;
}
