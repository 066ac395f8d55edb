import type { StringOrMarkdown } from "../protocol/types";

/** The text of what may be Markdown, as it was written. */
export function plain(text: StringOrMarkdown): string {
  return typeof text === "string" ? text : text.markdown;
}

/** The first line of what may be Markdown, without its marks. */
export function headline(text: StringOrMarkdown): string {
  const line = plain(text).trim().split("\n", 1)[0] ?? "";
  if (typeof text === "string") return line;
  return line.replace(/\\([\\`*_[\]<>~#])/g, "$1").replace(/(`+) ?(.+?) ?\1/g, "$2");
}

export function firstLine(text: string, limit = 120): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString()} ${n === 1 ? one : many}`;
}

/** An amount of money: small ones with as many digits as it takes to tell. */
export function money({ amount, currency }: { amount: number; currency: string }): string {
  const digits = amount > 0 && amount < 0.995 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 2 };
  try {
    return amount.toLocaleString(undefined, { style: "currency", currency, ...digits });
  } catch {
    // Agents may have currencies that nobody has heard of.
    return `${amount.toLocaleString(undefined, digits)} ${currency}`;
  }
}

/** From here on, breaking a word between any two letters takes the square of its length, if they are kerned. */
const LONG_WORD = 400;

/** Whether a text has a word that no page was made for: a picture in base64, a row of one letter. Looks at few places only. */
export function hasLongWord(text: string): boolean {
  const isSpace = (at: number) => text.charCodeAt(at) <= 32;
  for (let at = LONG_WORD - 1; at < text.length; at += LONG_WORD) {
    let from = at;
    while (from > 0 && at - from < LONG_WORD && !isSpace(from)) from--;
    let to = from + 1;
    while (to < text.length && to - from <= LONG_WORD && !isSpace(to)) to++;
    if (!isSpace(at) && to - from > LONG_WORD) return true;
  }
  return false;
}
