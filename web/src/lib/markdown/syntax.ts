// The Markdown that is read here: the library's, with footnotes and formulas.

import { Lexer, Marked } from "marked";
import type { Token, TokenizerAndRendererExtension, Tokens } from "marked";
import type { Links } from "./links";

export interface FootnoteToken extends Tokens.Generic {
  type: "footnote";
  label: string;
  tokens: Token[];
}

export interface MathToken extends Tokens.Generic {
  type: "math";
  source: string;
  isBlock: boolean;
}

const DEFINITION = /^\[\^([^\]\s]{1,64})\]:[ \t]+([^\n]*(?:\n(?![ \t]*(?:\n|$)|\[\^[^\]\s]+\]:)[^\n]*)*)(?:\n+|$)/;

/** Where a line begins that looks like this. The library asks from the middle of lines, too. */
function lineAt(source: string, pattern: RegExp): number | undefined {
  const index = source.match(pattern)?.index;
  return index === undefined ? undefined : index + 1;
}

const footnote: TokenizerAndRendererExtension = {
  name: "footnote",
  level: "block",
  start: (source) => lineAt(source, /\n\[\^/),
  tokenizer(source) {
    const match = DEFINITION.exec(source);
    if (!match) return undefined;
    const [raw, label = "", text = ""] = match;
    return { type: "footnote", raw, label, tokens: this.lexer.blockTokens(text.replace(/^[ \t]+/gm, ""), []) } satisfies FootnoteToken;
  },
};

// Formulas have a longest length: otherwise each that is never closed would be
// looked for up to the end of the text.
const BLOCK_MATH = /^ {0,3}(?:\$\$([^]{1,4000}?)\$\$|\\\[([^]{1,4000}?)\\\])[ \t]*(?:\n+|$)/;

const blockMath: TokenizerAndRendererExtension = {
  name: "math",
  level: "block",
  start: (source) => lineAt(source, /\n {0,3}(?:\$\$|\\\[)/),
  tokenizer(source) {
    const match = BLOCK_MATH.exec(source);
    const formula = match?.[1] ?? match?.[2];
    if (!match || !formula?.trim()) return undefined;
    return { type: "math", raw: match[0], source: formula.trim(), isBlock: true } satisfies MathToken;
  },
};

// A single dollar sign is money far more often than mathematics.
const INLINE_MATH = /^(?:\$\$([^$\n]{1,1000}?)\$\$|\\\(([^]{1,1000}?)\\\)|\\\[([^]{1,1000}?)\\\])/;

const inlineMath: TokenizerAndRendererExtension = {
  name: "inlineMath",
  level: "inline",
  start: (source) => source.match(/\$\$|\\[([]/)?.index,
  tokenizer(source) {
    const match = INLINE_MATH.exec(source);
    const formula = match?.[1] ?? match?.[2] ?? match?.[3];
    if (!match || !formula?.trim()) return undefined;
    return { type: "math", raw: match[0], source: formula.trim(), isBlock: false } satisfies MathToken;
  },
};

const { defaults } = new Marked({ extensions: [footnote, blockMath, inlineMath] });

/** `links` are those that other blocks of the text define. */
export function tokensOf(source: string, links?: Links): Token[] {
  const lexer = new Lexer(defaults);
  Object.assign(lexer.tokens.links, links);
  return lexer.lex(source);
}

/** What a piece of Markdown defines: links, and footnotes under the name that they are referred to by. */
export function definitionsIn(source: string): Links {
  const lexer = new Lexer(defaults);
  const tokens = lexer.blockTokens(source, lexer.tokens);
  const found = lexer.tokens.links;
  for (const token of tokens) {
    if (token.type !== "footnote") continue;
    // Not a place to go to: what is rendered from it knows that.
    found[`^${(token as FootnoteToken).label}`.toLowerCase()] = { href: FOOTNOTE, title: "" };
  }
  return found;
}

/** Where references to footnotes lead. */
export const FOOTNOTE = "#footnote";
