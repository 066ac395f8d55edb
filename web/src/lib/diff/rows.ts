// A difference as rows to show: changes with some lines around them, and gaps
// that say how much was left out.

import type { Change } from "./lines";

export type Row =
  | { kind: "gap"; count: number }
  | { kind: "line"; change: Change };

export interface Pair {
  kind: "pair";
  left?: Change;
  right?: Change;
}

const CONTEXT = 3;

export function unified(changes: Change[], context = CONTEXT): Row[] {
  const isNear = nearChanges(changes, context);
  const rows: Row[] = [];
  let skipped = 0;
  for (const [index, change] of changes.entries()) {
    if (!isNear[index]) {
      skipped++;
      continue;
    }
    if (skipped) rows.push({ kind: "gap", count: skipped });
    skipped = 0;
    rows.push({ kind: "line", change });
  }
  if (skipped && rows.length) rows.push({ kind: "gap", count: skipped });
  return rows;
}

/** The same rows side by side: what went next to what came. */
export function split(rows: Row[]): (Pair | Extract<Row, { kind: "gap" }>)[] {
  const pairs: (Pair | Extract<Row, { kind: "gap" }>)[] = [];
  let removed: Change[] = [];
  let added: Change[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      pairs.push({ kind: "pair", left: removed[at], right: added[at] });
    }
    removed = [];
    added = [];
  };
  for (const row of rows) {
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
