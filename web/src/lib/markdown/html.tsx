// The few HTML elements that answers may have: those that Markdown has no sign
// for. They are found by their names and made anew, without any attributes;
// every other tag is text, and comments are nothing.

import { Fragment } from "react";
import type { ReactNode } from "react";
import type { Token } from "marked";

/** The elements that may stand around words. */
const AROUND = new Set(["kbd", "sup", "sub", "b", "i", "em", "strong", "u", "s", "del", "ins", "mark", "small", "code"]);

const TAG = /^<(\/?)([a-z][a-z\d]*)\s*\/?>$/i;

type Render = (token: Token) => ReactNode;

/** Tokens in a row; a tag and the one that closes it become an element. */
export function withElements(tokens: readonly Token[], render: Render): ReactNode[] {
  const open: { name: string; raw: string; nodes: ReactNode[] }[] = [];
  const nodes: ReactNode[] = [];
  const push = (node: ReactNode) => {
    const target = open.at(-1)?.nodes ?? nodes;
    target.push(<Fragment key={target.length}>{node}</Fragment>);
  };
  for (const token of tokens) {
    const [, closes, name = ""] = token.type === "html" ? (TAG.exec(token.raw.trim()) ?? []) : [];
    const tag = name.toLowerCase();
    if (token.type === "html" && /^<!--[^]*-->$/.test(token.raw.trim())) continue;
    if (tag === "br" && !closes) push(<br />);
    else if (AROUND.has(tag) && !closes && isClosed(tokens, token, tag)) open.push({ name: tag, raw: token.raw, nodes: [] });
    else if (closes && open.at(-1)?.name === tag) {
      const { nodes: inner } = open.pop() ?? { nodes: [] };
      const Tag = tag as "kbd";
      push(<Tag>{inner}</Tag>);
    } else push(render(token));
  }
  // What nobody closed was no element.
  while (open.length > 0) {
    const { raw, nodes: inner } = open.pop() ?? { raw: "", nodes: [] };
    push(raw);
    push(inner);
  }
  return nodes;
}

function isClosed(tokens: readonly Token[], from: Token, name: string): boolean {
  const closing = new RegExp(`^</${name}\\s*>$`, "i");
  return tokens.slice(tokens.indexOf(from) + 1).some(({ type, raw }) => type === "html" && closing.test(raw.trim()));
}

const DETAILS = /^\s*<details(\s+open)?\s*>\s*(?:<summary>([^]*?)<\/summary>)?([^]*)$/i;
const END = /<\/details\s*>/i;

export interface Details {
  isOpen: boolean;
  /** Markdown, as what follows. */
  summary: string;
  body: string;
}

/** A section that can be opened, from where its source begins to where it ends. */
export function detailsIn(raw: string): Details | undefined {
  const [, open, summary = "", rest] = DETAILS.exec(raw) ?? [];
  if (rest === undefined) return undefined;
  return { isOpen: open !== undefined, summary: summary.replace(/<\/?(?:b|strong|i|em|code|h\d)>/gi, "").trim(), body: rest };
}

/** The tokens of such a section: what stands after the one that opens it, up to the one that closes it. */
export function untilEnd(tokens: readonly Token[], from: number): { end: number; before: string } {
  let depth = 0;
  for (let at = from; at < tokens.length; at++) {
    const { type, raw } = tokens[at] ?? { type: "", raw: "" };
    if (type !== "html") continue;
    depth += (raw.match(/<details\b/gi) ?? []).length - (raw.match(/<\/details\s*>/gi) ?? []).length;
    if (depth <= 0) return { end: at, before: at === from ? "" : raw.slice(0, raw.search(END)) };
  }
  return { end: tokens.length, before: "" };
}
