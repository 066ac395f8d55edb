/**
 * Closes what an unfinished text leaves open, so that a streamed `**bold` is
 * bold from its first letter and not only when its end arrives.
 */
export function mend(source: string): string {
  const lastBreak = source.lastIndexOf("\n\n");
  const line = source.slice(lastBreak < 0 ? 0 : lastBreak);
  const ticks = line.match(/`+/g) ?? [];
  if (ticks.length % 2 === 1) return source + (ticks.at(-1) ?? "");
  const outside = line.replace(/`[^`]*`/g, "");
  // A marker that nothing follows yet is not a beginning.
  const trimmed = outside.replace(/(\*\*|__|~~|\*|_)$/, "");
  if (trimmed !== outside) return source;
  let closing = "";
  if (odd(outside, /\*\*/g)) closing = "**" + closing;
  if (odd(outside, /~~/g)) closing = "~~" + closing;
  if (/\[[^\]]*\]\([^)\s]*$/.test(outside)) closing = ")" + closing;
  return closing ? source.trimEnd() + closing : source;
}

function odd(text: string, pattern: RegExp): boolean {
  return (text.match(pattern)?.length ?? 0) % 2 === 1;
}
