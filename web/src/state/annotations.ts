// Comments on files: where they stand in a text, and what is to be said about
// them.

import type { Annotation, AnnotationEntry, URI } from "../protocol/types";

/** The channel of a session's annotations. */
export function annotationsOf(session: URI): URI {
  return `${session}/annotations`;
}

interface Anchor {
  anchor?: unknown;
  lines?: unknown;
}

function anchorOf({ _meta }: Annotation): Anchor {
  return (_meta?.innkeeper as Anchor | undefined) ?? {};
}

/** Whether the lines that it is about are no longer in the file. */
export function isLost(annotation: Annotation): boolean {
  return anchorOf(annotation).anchor === "lost";
}

/** The lines that it is about, as they were when the host saw them last. */
export function quoteOf(annotation: Annotation): string[] {
  const { lines } = anchorOf(annotation);
  return Array.isArray(lines) ? lines.filter((line): line is string => typeof line === "string") : [];
}

export function authorOf({ _meta }: AnnotationEntry): string | undefined {
  const author = (_meta?.innkeeper as { author?: unknown } | undefined)?.author;
  return typeof author === "string" && author ? author : undefined;
}

/** How much of a line the host remembers. */
const CUT = 200;

/** The line of a text under which it stands: its own, or the nearest that says the same. Lost ones stand nowhere. */
export function placeIn(annotation: Annotation, lines: readonly string[]): number | undefined {
  if (!annotation.range || isLost(annotation)) return undefined;
  const { line } = annotation.range.start;
  const [first] = quoteOf(annotation);
  if (first === undefined) return line < lines.length ? line : undefined;
  return nearest(lines, line, first);
}

/** The line nearest to one that says this. */
export function nearest(lines: readonly string[], line: number, quote: string): number | undefined {
  const says = (at: number) => lines[at]?.slice(0, CUT) === quote.slice(0, CUT);
  const furthest = Math.max(line, lines.length);
  for (let away = 0; away <= furthest; away++) {
    if (says(line - away)) return line - away;
    if (says(line + away)) return line + away;
  }
  return undefined;
}

/** The comments on a file, by the line of its text that each stands under. */
export function byLine(annotations: readonly Annotation[], resource: URI, lines: readonly string[]): Map<number, Annotation[]> {
  const places = new Map<number, Annotation[]>();
  for (const annotation of annotations) {
    if (annotation.resource !== resource) continue;
    const line = placeIn(annotation, lines);
    if (line !== undefined) places.set(line, [...(places.get(line) ?? []), annotation]);
  }
  return places;
}

export function openOnes(annotations: readonly Annotation[]): Annotation[] {
  return annotations.filter(({ resolved }) => !resolved);
}
