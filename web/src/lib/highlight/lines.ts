// Colours of a whole text as those of its lines, with marks laid over them.

import type { Run } from "./runs";

/** The runs of each line; none of them has a line end in it. */
export function linesOfRuns(runs: readonly Run[]): Run[][] {
  const lines: Run[][] = [[]];
  for (const [className, text] of runs) {
    const [first = "", ...rest] = text.split("\n");
    if (first) lines.at(-1)?.push([className, first]);
    for (const piece of rest) lines.push(piece ? [[className, piece]] : []);
  }
  return lines;
}

export interface MarkedRun {
  className: string;
  text: string;
  isMarked: boolean;
}

/** Cuts runs where marks begin and end. */
export function withMarks(runs: readonly Run[], marks: readonly (readonly [number, number])[]): MarkedRun[] {
  const pieces: MarkedRun[] = [];
  let at = 0;
  for (const [className, text] of runs) {
    const end = at + text.length;
    const cuts = [at, ...marks.flat().filter((cut) => cut > at && cut < end), end];
    for (let n = 0; n + 1 < cuts.length; n++) {
      const [from = 0, to = 0] = [cuts[n], cuts[n + 1]];
      const isMarked = marks.some(([start, stop]) => start <= from && to <= stop);
      pieces.push({ className, text: text.slice(from - at, to - at), isMarked });
    }
    at = end;
  }
  return pieces;
}

/** What a file's name says about its language, as the highlighter calls it. */
export function languageOf(name: string): string {
  const base = name.slice(name.lastIndexOf("/") + 1).toLowerCase();
  const [stem = "", ...ends] = base.split(".");
  const end = ends.at(-1) ?? stem;
  return NAMES.get(end) ?? end;
}

const NAMES = new Map(Object.entries({
  bashrc: "bash",
  cjs: "javascript",
  cts: "typescript",
  hh: "cpp",
  htm: "html",
  mts: "typescript",
  lock: "toml",
  profile: "bash",
  scss: "css",
  svelte: "html",
  vue: "html",
  zshrc: "bash",
}));
