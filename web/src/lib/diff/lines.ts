// Which lines went and which came. Lines that occur once on both sides anchor
// the comparison, so that a large change stays cheap and reads well.

export interface Change {
  kind: "same" | "removed" | "added";
  /** Line numbers from 0; of the side that has the line. */
  before?: number;
  after?: number;
  text: string;
}

/** Beyond so many edits between two anchors, everything there was replaced: time and memory grow with the square. */
const EDIT_LIMIT = 1_500;

export function linesOf(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

export function diffLines(before: string[], after: string[]): Change[] {
  const changes: Change[] = [];
  compare(numbered(before, after), 0, before.length, 0, after.length, (kind, a, b) => {
    if (kind === "same") changes.push({ kind, before: a, after: b, text: before[a] ?? "" });
    else if (kind === "removed") changes.push({ kind, before: a, text: before[a] ?? "" });
    else changes.push({ kind, after: b, text: after[b] ?? "" });
  });
  return changes;
}

interface Numbered {
  a: Int32Array;
  b: Int32Array;
}

type Emit = (kind: Change["kind"], a: number, b: number) => void;

/** Equal lines get equal numbers: comparing them costs nothing. */
function numbered(before: string[], after: string[]): Numbered {
  const ids = new Map<string, number>();
  const number = (line: string) => {
    const known = ids.get(line);
    if (known !== undefined) return known;
    ids.set(line, ids.size);
    return ids.size - 1;
  };
  return { a: Int32Array.from(before, number), b: Int32Array.from(after, number) };
}

function compare(lines: Numbered, aFrom: number, aTo: number, bFrom: number, bTo: number, emit: Emit): void {
  const { a, b } = lines;
  while (aFrom < aTo && bFrom < bTo && a[aFrom] === b[bFrom]) emit("same", aFrom++, bFrom++);
  let tail = 0;
  while (aTo - tail > aFrom && bTo - tail > bFrom && a[aTo - tail - 1] === b[bTo - tail - 1]) tail++;
  between(lines, aFrom, aTo - tail, bFrom, bTo - tail, emit);
  for (let left = tail; left > 0; left--) emit("same", aTo - left, bTo - left);
}

function between(lines: Numbered, aFrom: number, aTo: number, bFrom: number, bTo: number, emit: Emit): void {
  if (aFrom === aTo || bFrom === bTo) return replace(aFrom, aTo, bFrom, bTo, emit);
  const anchors = anchorsOf(lines, aFrom, aTo, bFrom, bTo);
  if (anchors.length === 0) {
    if (!shortest(lines, aFrom, aTo, bFrom, bTo, emit)) replace(aFrom, aTo, bFrom, bTo, emit);
    return;
  }
  let [a, b] = [aFrom, bFrom];
  for (const [anchorA, anchorB] of anchors) {
    compare(lines, a, anchorA, b, anchorB, emit);
    emit("same", anchorA, anchorB);
    [a, b] = [anchorA + 1, anchorB + 1];
  }
  compare(lines, a, aTo, b, bTo, emit);
}

function replace(aFrom: number, aTo: number, bFrom: number, bTo: number, emit: Emit): void {
  for (let a = aFrom; a < aTo; a++) emit("removed", a, 0);
  for (let b = bFrom; b < bTo; b++) emit("added", 0, b);
}

/** Lines that occur once on each side, in an order that both sides share. */
function anchorsOf({ a, b }: Numbered, aFrom: number, aTo: number, bFrom: number, bTo: number): [number, number][] {
  const counts = new Map<number, { a: number; b: number; inA: number; inB: number }>();
  for (let at = aFrom; at < aTo; at++) {
    const entry = counts.get(a[at] ?? 0) ?? { a: at, b: 0, inA: 0, inB: 0 };
    entry.inA++;
    counts.set(a[at] ?? 0, entry);
  }
  for (let at = bFrom; at < bTo; at++) {
    const entry = counts.get(b[at] ?? 0);
    if (!entry) continue;
    entry.inB++;
    entry.b = at;
  }
  const unique = [...counts.values()].filter(({ inA, inB }) => inA === 1 && inB === 1);
  unique.sort((x, y) => x.a - y.a);
  return increasing(unique.map(({ a: x, b: y }) => [x, y]));
}

/** The longest run of pairs whose second numbers grow (patience sorting). */
function increasing(pairs: [number, number][]): [number, number][] {
  const piles: number[] = [];
  const previous = new Int32Array(pairs.length).fill(-1);
  for (const [index, [, b]] of pairs.entries()) {
    let [low, high] = [0, piles.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[piles[middle] ?? 0]?.[1] ?? 0) < b) low = middle + 1;
      else high = middle;
    }
    if (low > 0) previous[index] = piles[low - 1] ?? -1;
    piles[low] = index;
  }
  const result: [number, number][] = [];
  for (let at = piles.at(-1) ?? -1; at >= 0; at = previous[at] ?? -1) {
    const pair = pairs[at];
    if (pair) result.push(pair);
  }
  return result.reverse();
}

/** Myers' shortest edit script, if it is short enough to look for. */
function shortest({ a, b }: Numbered, aFrom: number, aTo: number, bFrom: number, bTo: number, emit: Emit): boolean {
  const [n, m] = [aTo - aFrom, bTo - bFrom];
  const limit = Math.min(n + m, EDIT_LIMIT);
  const reach = new Int32Array(2 * limit + 3);
  const history: Int32Array[] = [];
  const at = (k: number) => k + limit + 1;
  for (let edits = 0; edits <= limit; edits++) {
    history.push(reach.slice(at(-edits - 1), at(edits + 1) + 1));
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && (reach[at(k - 1)] ?? 0) < (reach[at(k + 1)] ?? 0));
      let x = down ? (reach[at(k + 1)] ?? 0) : (reach[at(k - 1)] ?? 0) + 1;
      while (x < n && x - k < m && a[aFrom + x] === b[bFrom + x - k]) x++;
      reach[at(k)] = x;
      if (x >= n && x - k >= m) {
        backtrack(history, edits, n, m).forEach(([kind, i, j]) => emit(kind, aFrom + i, bFrom + j));
        return true;
      }
    }
  }
  return false;
}

function backtrack(history: Int32Array[], edits: number, n: number, m: number) {
  const script: [Change["kind"], number, number][] = [];
  let [x, y] = [n, m];
  for (let d = edits; d > 0; d--) {
    const reach = history[d] ?? new Int32Array();
    const at = (diagonal: number) => diagonal + d + 1;
    const k = x - y;
    const down = k === -d || (k !== d && (reach[at(k - 1)] ?? 0) < (reach[at(k + 1)] ?? 0));
    const before = down ? k + 1 : k - 1;
    const fromX = reach[at(before)] ?? 0;
    const fromY = fromX - before;
    while (x > fromX && y > fromY && (down ? y > fromY + 1 : x > fromX + 1)) script.push(["same", --x, --y]);
    if (down) script.push(["added", 0, --y]);
    else script.push(["removed", --x, 0]);
  }
  while (x > 0 && y > 0) script.push(["same", --x, --y]);
  return script.reverse();
}
