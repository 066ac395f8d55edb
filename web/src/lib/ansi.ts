// What a program printed for a terminal, as lines of text with their colours.
// Colours and weights are read; of everything else that a terminal would do,
// only a line that is written over again is followed.

export interface AnsiStyle {
  /** Classes of the sixteen colours that have names, and of weights. */
  className: string;
  /** Colours by number, which have no class. */
  color?: string;
  background?: string;
}

export type AnsiRun = [style: AnsiStyle | undefined, text: string];

// CSI sequences, OSC and other strings up to their end, and the short ones.
const ESCAPE = /\u001b\[([0-9;:?<=>]*)[ -/]*([@-~])|\u001b[\]P^_X][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]|[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f]/g;

/** Whether there is anything in a text that is not for reading. */
export function hasEscapes(text: string): boolean {
  return /[\u0000-\u0008\u000b-\u001f\u007f]/.test(text);
}

/** The text alone. */
export function plainText(text: string): string {
  if (!hasEscapes(text)) return text;
  return rewound(text.replace(ESCAPE, ""));
}

/** Text with what it looks like; neighbours of one look are one run. */
export function ansiRuns(text: string): AnsiRun[] {
  if (!hasEscapes(text)) return text ? [[undefined, text]] : [];
  const source = rewound(text);
  const runs: AnsiRun[] = [];
  let look = NOTHING;
  let from = 0;
  const push = (piece: string) => {
    if (!piece) return;
    const style = styleOf(look);
    const last = runs.at(-1);
    if (last && isSame(last[0], style)) last[1] += piece;
    else runs.push([style, piece]);
  };
  for (const match of source.matchAll(ESCAPE)) {
    push(source.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[2] === "m") look = applied(look, match[1] ?? "");
  }
  push(source.slice(from));
  return runs;
}

/** Of a line that was written over with carriage returns, what it showed last. */
function rewound(text: string): string {
  if (!text.includes("\r")) return text;
  const lines = text.replace(/\r+\n/g, "\n").split("\n");
  return lines.map((line) => (line.includes("\r") ? overwritten(line) : line)).join("\n");
}

function overwritten(line: string): string {
  const drafts = line.split("\r").filter((draft) => draft.replace(ESCAPE, "") !== "");
  return drafts.at(-1) ?? "";
}

type Colour = { name: number } | { value: string } | undefined;

interface Look {
  fore: Colour;
  back: Colour;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  strike: boolean;
  inverse: boolean;
}

const NOTHING: Look = { fore: undefined, back: undefined, bold: false, dim: false, italic: false, underline: false, strike: false, inverse: false };

function applied(before: Look, codes: string): Look {
  // 38:2::r:g:b is 38;2;r;g;b with a colour space that nobody names.
  const numbers = codes.replace(/(38|48):2:\d*:(?=\d+:\d+:\d+)/g, "$1;2;").split(/[;:]/).map((code) => Number(code || 0));
  let look = before;
  for (let at = 0; at < numbers.length; at++) {
    const code = numbers[at] ?? 0;
    if (code === 38 || code === 48 || code === 58) {
      const [colour, used] = extended(numbers.slice(at + 1));
      at += used;
      if (code === 38) look = { ...look, fore: colour };
      else if (code === 48) look = { ...look, back: colour };
    } else look = withCode(look, code);
  }
  return look;
}

function withCode(look: Look, code: number): Look {
  if (code === 0) return NOTHING;
  if (code >= 30 && code <= 37) return { ...look, fore: { name: code - 30 } };
  if (code >= 90 && code <= 97) return { ...look, fore: { name: code - 82 } };
  if (code >= 40 && code <= 47) return { ...look, back: { name: code - 40 } };
  if (code >= 100 && code <= 107) return { ...look, back: { name: code - 92 } };
  switch (code) {
    case 1:
      return { ...look, bold: true };
    case 2:
      return { ...look, dim: true };
    case 3:
      return { ...look, italic: true };
    case 4:
    case 21:
      return { ...look, underline: true };
    case 7:
      return { ...look, inverse: true };
    case 9:
      return { ...look, strike: true };
    case 22:
      return { ...look, bold: false, dim: false };
    case 23:
      return { ...look, italic: false };
    case 24:
      return { ...look, underline: false };
    case 27:
      return { ...look, inverse: false };
    case 29:
      return { ...look, strike: false };
    case 39:
      return { ...look, fore: undefined };
    case 49:
      return { ...look, back: undefined };
    default:
      return look;
  }
}

/** What stands behind 38 and 48, and how many numbers that took. */
function extended([form, ...rest]: number[]): [Colour, number] {
  if (form === 5) return [ofPalette(rest[0] ?? 0), 2];
  if (form === 2) return [{ value: rgb(rest[0], rest[1], rest[2]) }, 4];
  return [undefined, 1];
}

function ofPalette(index: number): Colour {
  if (!(index >= 0 && index <= 255)) return undefined;
  if (index < 16) return { name: index };
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return { value: rgb(grey, grey, grey) };
  }
  const level = (n: number) => (n === 0 ? 0 : 55 + n * 40);
  const cube = index - 16;
  return { value: rgb(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)) };
}

function rgb(...parts: (number | undefined)[]): string {
  return `rgb(${parts.map((part) => Math.min(255, part ?? 0)).join(" ")})`;
}

function styleOf(look: Look): AnsiStyle | undefined {
  if (look === NOTHING) return undefined;
  const { fore, back, bold, dim, italic, underline, strike, inverse } = look;
  const [front, behind] = inverse ? [back, fore] : [fore, back];
  const classes = [
    front && "name" in front && `ansi-${front.name}`,
    behind && "name" in behind && `ansi-bg-${behind.name}`,
    inverse && !front && "ansi-inverse-fg",
    inverse && !behind && "ansi-inverse-bg",
    bold && "ansi-bold",
    dim && "ansi-dim",
    italic && "ansi-italic",
    underline && "ansi-underline",
    strike && "ansi-strike",
  ];
  const style: AnsiStyle = { className: classes.filter(Boolean).join(" ") };
  if (front && "value" in front) style.color = front.value;
  if (behind && "value" in behind) style.background = behind.value;
  return style.className || style.color || style.background ? style : undefined;
}

function isSame(a: AnsiStyle | undefined, b: AnsiStyle | undefined): boolean {
  return a?.className === b?.className && a?.color === b?.color && a?.background === b?.background;
}
