// Closes what an unfinished text leaves open, so that a streamed `**bold` is
// bold from its first letter and not only when its end arrives.

import remend from "remend";

const OPTIONS = {
  linkMode: "text-only",
  katex: false,
  // HTML is shown as text; the other two would be taken back when the text is complete.
  htmlTags: false,
  comparisonOperators: false,
  singleTilde: false,
} as const;

/** The cost grows faster than the length. What is longer is left as it is. */
const LIMIT = 8_000;

export function mend(source: string): string {
  const at = lastPart(source);
  if (source.length - at > LIMIT) return source;
  return source.slice(0, at) + remend(source.slice(at), OPTIONS);
}

const BEGINNING = /^[ \t]*(?:$|(?:[-*+]|\d+[.)])[ \t]|\|)/;

/** Where the last paragraph, list item or row begins: nothing stays open across it, but a fence. */
function lastPart(source: string): number {
  if (source.includes("```") || source.includes("~~~")) return 0;
  let end = source.length;
  for (;;) {
    const at = source.lastIndexOf("\n", end - 1) + 1;
    if (at === 0 || BEGINNING.test(source.slice(at, end))) return at;
    end = at - 1;
  }
}
