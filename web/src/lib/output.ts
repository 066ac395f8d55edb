// Long texts, cut where a line ends, and results of tools without the wrapping
// that some agents put around them.

export interface Piece {
  text: string;
  /** How many lines are left out. */
  hidden: number;
}

/** The first lines, as many as fit; a line that is too long by itself is cut. */
export function beginningOf(text: string, limit: number): Piece {
  if (text.length <= limit) return { text, hidden: 0 };
  const end = text.lastIndexOf("\n", limit);
  const at = end > 0 ? end : limit;
  return { text: text.slice(0, at), hidden: Math.max(1, linesIn(text.slice(at + (end > 0 ? 1 : 0)))) };
}

/** The last lines, as many as fit. */
export function endOf(text: string, limit: number): Piece {
  if (text.length <= limit) return { text, hidden: 0 };
  const from = text.length - limit;
  // A line end right before the cut is a good place already.
  const end = text.indexOf("\n", from - 1);
  const at = end >= 0 && end < text.length - 1 ? end + 1 : from;
  return { text: text.slice(at), hidden: Math.max(1, linesIn(text.slice(0, at))) };
}

function linesIn(text: string): number {
  const ends = text.split("\n").length - 1;
  return text.endsWith("\n") || text === "" ? ends : ends + 1;
}

const FENCED = /^\s*(`{3,}|~{3,})[^\n`]*\n([^]*?)\n?\1\s*$/;
/** Line numbers as agents write them: digits, then a tab or an arrow. */
const NUMBERED = /^ *(\d+)(?:\t|→)/;

/** What a tool read, without a fence, a JSON object or line numbers around it. */
export function unwrapped(text: string): string {
  return withoutNumbers(fencedIn(text) ?? contentIn(text) ?? text);
}

/** What a tool printed, without the fence, and the tag for errors, that some agents put around it. */
export function withoutFence(text: string): string {
  const inner = fencedIn(text) ?? text;
  return /^\s*<tool_use_error>([^]*)<\/tool_use_error>\s*$/.exec(inner)?.[1] ?? inner;
}

/** What is between the first line and the last, if those are one fence. */
function fencedIn(text: string): string | undefined {
  const [, fence = "", inner] = FENCED.exec(text) ?? [];
  return inner?.split("\n").some((line) => line.startsWith(fence)) ? undefined : inner;
}

function contentIn(text: string): string | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    const { content, ...rest } = JSON.parse(text) as Record<string, unknown>;
    // With much else in it, it is not a wrapper.
    return typeof content === "string" && Object.keys(rest).length <= 3 ? content : undefined;
  } catch {
    return undefined;
  }
}

function withoutNumbers(text: string): string {
  const lines = text.replace(/\n$/, "").split("\n");
  const numbers = lines.map((line) => Number(NUMBERED.exec(line)?.[1] ?? Number.NaN));
  const first = numbers[0] ?? Number.NaN;
  if (!numbers.every((number, index) => number === first + index)) return text;
  return lines.map((line) => line.replace(NUMBERED, "")).join("\n");
}

const EXIT_CODE = /^(?:Exit code|exit status|Command failed with exit code|Process exited with code)[ :]*(\d{1,3})\b[.:]?\s*/i;

/** What a failed command printed, and the exit code that some agents write before it. */
export function failureOf(message: string): { exitCode?: number; text: string } {
  const match = EXIT_CODE.exec(message);
  if (!match) return { text: message };
  return { exitCode: Number(match[1]), text: message.slice(match[0].length) };
}

/** The last addresses that a text names, each once. */
export function linksIn(text: string, most = 5): string[] {
  const found = text.match(/https?:\/\/[^\s"'<>`]+/g) ?? [];
  // What ends a sentence or closes a bracket around an address is no part of it.
  const links = found.map((link) => link.replace(/[.,;:!?)\]}]+$/, ""));
  return [...new Set(links)].slice(-most);
}
