// Splits a growing Markdown text into top-level blocks, so that a token costs
// the block it stands in and not the whole answer.
//
// Invariant: what has been handed out as finished never changes as long as
// the text only grows. Only the last block, and only it, may still change.

import { NO_LINKS, withDefinitions } from "./links";
import type { Links } from "./links";

export type Block =
  | { kind: "markdown"; start: number; source: string }
  | { kind: "code"; start: number; source: string; language: string; isOpen: boolean };

/** A run of finished blocks that keeps its identity from update to update. */
export type Group = readonly Block[];

export interface Blocks {
  groups: readonly Group[];
  tail: readonly Block[];
  /** What the blocks define for each other; the same object until there is more. */
  links: Links;
}

const GROUP_SIZE = 24;
/** Beyond this, a block that still grows is cut at a line. */
const BLOCK_LIMIT = 12_000;
/** The same for a text that is complete, which is read once. */
const WHOLE_LIMIT = 200_000;
const INDENTED = /^(?: {4}|\t| {1,3}\t)/;

const FENCE = /^( {0,3})(`{3,}|~{3,})[ \t]*([^`\n]*)$/;
const DETAILS = /^ {0,3}<details\b/i;
/** Formulas and comments of several lines: what begins one, and what ends it. */
const SPANS: readonly [begin: RegExp, end: RegExp][] = [
  [/^ {0,3}<!--(?!.*-->)/, /-->/],
  [/^ {0,3}\$\$(?!.*\$\$)/, /\$\$[ \t]*$/],
  [/^ {0,3}\\\[(?!.*\\\])/, /\\\][ \t]*$/],
];

const LIST_ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/;

interface Fence {
  marker: string;
  language: string;
  /** Fences inside of list items belong to the list's block. */
  isInner: boolean;
  content: number;
}

export class BlockSplitter {
  private text = "";
  private groups: Group[] = [];
  private rest: Block[] = [];
  private links = NO_LINKS;
  /** Where the block that is being read begins. */
  private start = 0;
  /** Where the first line that is not complete begins. */
  private scanned = 0;
  private fence: Fence | undefined;
  private isList = false;
  /** Code by its indentation. */
  private isIndented = false;
  private afterBlank = false;
  /** Whether the text was complete when it was read from its beginning. */
  private isWhole = false;
  /** Whether a block was cut, so that a complete text is better read again. */
  private wasCut = false;
  /** How many sections are open: blank lines do not end them. */
  private details = 0;
  /** What ends the formula or the comment that is open. */
  private span: RegExp | undefined;

  /** While more is to come, the last block is not asked for definitions: they are not finished. */
  update(text: string, isComplete = true): Blocks {
    // Comparing all of a long text each time would cost what this class saves;
    // the caller's texts only grow, or are replaced by something else.
    const grows = text.length >= this.text.length && text.startsWith(this.text.slice(0, 64));
    this.isWhole &&= grows && isComplete;
    const isReadWhole = isComplete && !this.isWhole && (this.wasCut || this.start === 0);
    if (!grows || isReadWhole) this.reset();
    this.isWhole ||= isReadWhole;
    this.text = text;
    this.scan();
    const tail = this.open();
    const last = tail.at(-1);
    const isAsked = isComplete && last?.kind === "markdown";
    const links = isAsked ? withDefinitions(this.links, last.source) : this.links;
    return { groups: this.groups, tail, links };
  }

  private get limit(): number {
    return this.isWhole ? WHOLE_LIMIT : BLOCK_LIMIT;
  }

  private reset(): void {
    this.groups = [];
    this.rest = [];
    this.links = NO_LINKS;
    this.start = this.scanned = 0;
    this.fence = undefined;
    this.isList = this.isIndented = this.afterBlank = this.wasCut = false;
    this.details = 0;
    this.span = undefined;
  }

  private scan(): void {
    const { text } = this;
    for (;;) {
      const end = text.indexOf("\n", this.scanned);
      if (end < 0) return this.cutLongLine();
      this.line(text.slice(this.scanned, end), this.scanned, end + 1);
      this.scanned = end + 1;
    }
  }

  /** A line without an end must not be read again and again as a whole. */
  private cutLongLine(): void {
    while (!this.fence && this.text.length - this.start > 2 * this.limit) {
      const space = this.text.lastIndexOf(" ", this.start + this.limit);
      const at = space > this.start ? space + 1 : this.start + this.limit;
      this.wasCut = true;
      this.finish(at);
      this.scanned = Math.max(this.scanned, at);
      this.isList = false;
    }
  }

  private line(line: string, at: number, next: number): void {
    if (this.fence) return this.fencedLine(line, at, next);
    const opening = FENCE.exec(line);
    if (opening) return this.openFence(opening, at, next);
    if (this.isSpanned && at - this.start <= this.limit) return this.spannedLine(line);
    this.details = 0;
    this.span = undefined;
    if (line.trim() === "") {
      this.afterBlank = true;
      return;
    }
    const continues = (this.isList && (/^(?: {2,}|\t)/.test(line) || LIST_ITEM.test(line))) || (this.isIndented && INDENTED.test(line));
    const isTooLong = at - this.start > this.limit && (!this.isList || LIST_ITEM.test(line));
    this.wasCut ||= isTooLong;
    if ((this.afterBlank && !continues) || isTooLong) this.finish(at);
    if (at === this.start || this.isFresh(at)) {
      this.isList = LIST_ITEM.test(line);
      this.isIndented = INDENTED.test(line);
    }
    this.afterBlank = false;
    if (!this.isList) this.spannedLine(line);
  }

  private get isSpanned(): boolean {
    return this.details > 0 || this.span !== undefined;
  }

  /** A line of a section, a formula or a comment: it may end it, or begin one. */
  private spannedLine(line: string): void {
    if (this.span) {
      if (this.span.test(line)) this.span = undefined;
      return;
    }
    if (this.details > 0 || DETAILS.test(line)) {
      const [opened, closed] = [/<details\b/gi, /<\/details\s*>/gi].map((tag) => line.match(tag)?.length ?? 0);
      this.details = Math.max(0, this.details + (opened ?? 0) - (closed ?? 0));
    } else this.span = SPANS.find(([begin]) => begin.test(line))?.[1];
  }

  private isFresh(at: number): boolean {
    return this.text.slice(this.start, at).trim() === "";
  }

  private openFence([, indent = "", marker = "", info = ""]: RegExpExecArray, at: number, next: number): void {
    const isInner = (this.isList && indent.length > 0) || this.isSpanned;
    if (!isInner) {
      this.finish(at);
      this.isList = false;
    }
    this.fence = { marker, language: info.trim().split(/\s+/)[0] ?? "", isInner, content: next };
    this.afterBlank = false;
  }

  private fencedLine(line: string, at: number, next: number): void {
    const { fence } = this;
    if (!fence || !closes(fence, line)) return;
    this.fence = undefined;
    if (fence.isInner) return;
    this.push({
      kind: "code",
      start: this.start,
      source: this.text.slice(fence.content, at),
      language: fence.language,
      isOpen: false,
    });
    this.start = next;
  }

  private finish(at: number): void {
    const source = this.text.slice(this.start, at);
    if (source.trim()) this.push({ kind: "markdown", start: this.start, source });
    this.start = at;
  }

  private push(block: Block): void {
    if (block.kind === "markdown") this.links = withDefinitions(this.links, block.source);
    this.rest = [...this.rest, block];
    if (this.rest.length < GROUP_SIZE) return;
    this.groups = [...this.groups, this.rest];
    this.rest = [];
  }

  private open(): Block[] {
    const { fence, start, text } = this;
    if (fence && !fence.isInner) {
      // A text may well end with the fence, without a line after it.
      const isOver = this.scanned >= fence.content && closes(fence, text.slice(this.scanned));
      const source = isOver ? text.slice(fence.content, this.scanned) : text.slice(fence.content);
      return [...this.rest, { kind: "code", start, source, language: fence.language, isOpen: !isOver }];
    }
    const source = text.slice(start);
    return source.trim() ? [...this.rest, { kind: "markdown", start, source }] : this.rest;
  }
}

function closes({ marker }: Fence, line: string): boolean {
  const closing = line.trim();
  return closing.length >= marker.length && closing === marker[0]?.repeat(closing.length);
}
