// A difference between two texts, as one column or two. Only the rows near
// the window are in the page, so its length does not matter.

import { memo, useMemo, useRef, useState } from "react";
import type { ReactNode } from "react";
import { Virtualizer } from "virtua";
import type { VirtualizerHandle } from "virtua";
import { count } from "../../lib/text";
import { diffLines, linesOf } from "../../lib/diff/lines";
import type { Change } from "../../lib/diff/lines";
import { split, unified } from "../../lib/diff/rows";
import type { Hunk, Pair, Row } from "../../lib/diff/rows";
import { wordMarks } from "../../lib/diff/words";
import type { Span } from "../../lib/diff/words";
import { withMarks } from "../../lib/highlight/lines";
import type { Run } from "../../lib/highlight/runs";
import { Icon } from "../ui/Icon";
import { useColours } from "./useColours";
import "../../styles/diff.css";

export type DiffStyle = "unified" | "split";

/** What is written about lines of the later text, and how more is. */
export interface DiffComments {
  above?: ReactNode;
  under: (line: number) => ReactNode;
  onComment: (line: number, quote: string) => void;
}

/** What can be done about neighbouring lines that differ. */
export interface HunkAction {
  label: string;
  isDisabled: boolean;
  run: (hunk: Hunk) => void;
}

interface Props {
  before: string;
  after: string;
  style: DiffStyle;
  /** What the file is called: its language is known by that. */
  name?: string;
  /** The texts are pieces of a file: nobody knows the numbers of their lines. */
  isPiece?: boolean;
  comments?: DiffComments;
  hunkActions?: HunkAction[];
}

const ROW_HEIGHT = 20;

export const DiffView = memo(function DiffView({ before, after, style, name = "", isPiece = false, comments, hunkActions }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const changes = useMemo(() => diffLines(linesOf(before), linesOf(after)), [before, after]);
  const marks = useMemo(() => wordMarks(changes), [changes]);
  const rows = useMemo(() => unified(changes, opened), [changes, opened]);
  const shown = useMemo<(Row | Pair)[]>(() => (style === "split" ? split(rows) : rows), [rows, style]);
  const old = useColours(before, name);
  const now = useColours(after, name);
  const textOf = (change: Change) => {
    const line = change.kind === "removed" ? old?.[change.before ?? 0] : now?.[change.after ?? 0];
    return <LineText text={change.text} runs={line} marks={marks(change)} />;
  };
  const below = ({ after: line }: Change) => (line === undefined ? null : comments?.under(line));
  const hunks = shown.flatMap((row, index) => ("hunk" in row && row.hunk ? [index] : []));
  if (rows.length === 0)
    return (
      <>
        {comments?.above}
        <p className="muted">No difference</p>
      </>
    );
  return (
    <div className={`diff-frame${isPiece ? " diff-piece" : ""}`}>
      {hunks.length > 1 && <Steps hunks={hunks} list={list} scroller={scroller} />}
      <div className={`diff diff-${style}`} ref={scroller} tabIndex={0} role="group" aria-label="Difference">
        {comments?.above}
        <Virtualizer ref={list} scrollRef={scroller} data={shown} itemSize={ROW_HEIGHT}>
          {(row, index) => (
            <div key={index}>
              <DiffRow row={row} textOf={textOf} onOpen={(at) => setOpened(new Set([...opened, at]))} onComment={comments?.onComment} hunkActions={hunkActions} />
              {row.kind === "line" && below(row.change)}
              {row.kind === "pair" && row.right && below(row.right)}
            </div>
          )}
        </Virtualizer>
      </div>
    </div>
  );
});

interface StepsProps {
  hunks: number[];
  list: React.RefObject<VirtualizerHandle | null>;
  scroller: React.RefObject<HTMLDivElement | null>;
}

/** From change to change. */
function Steps({ hunks, list, scroller }: StepsProps) {
  const [at, setAt] = useState(0);
  const go = (by: number) => {
    const next = (at + by + hunks.length) % hunks.length;
    setAt(next);
    list.current?.scrollToIndex(hunks[next] ?? 0, { align: "center" });
    scroller.current?.focus({ preventScroll: true });
  };
  return (
    <div className="diff-steps">
      <span aria-live="polite">
        Change {Math.min(at, hunks.length - 1) + 1} of {hunks.length.toLocaleString()}
      </span>
      <button type="button" className="icon-button small" aria-label="Previous change" title="Previous change" onClick={() => go(-1)}>
        <Icon name="arrowUp" />
      </button>
      <button type="button" className="icon-button small" aria-label="Next change" title="Next change" onClick={() => go(1)}>
        <Icon name="arrowDown" />
      </button>
    </div>
  );
}

const SIGNS = { same: " ", removed: "−", added: "+" } as const;

type OnComment = DiffComments["onComment"] | undefined;
type TextOf = (change: Change) => ReactNode;

interface RowProps {
  row: Row | Pair;
  textOf: TextOf;
  onOpen: (at: number) => void;
  onComment: OnComment;
  hunkActions: HunkAction[] | undefined;
}

function DiffRow({ row, textOf, onOpen, onComment, hunkActions }: RowProps) {
  if (row.kind === "gap") {
    return (
      <button type="button" className="diff-gap" onClick={() => onOpen(row.at)}>
        <Icon name="unfold" /> Show {count(row.count, "unchanged line")}
      </button>
    );
  }
  if (row.kind === "pair") {
    return (
      <div className="diff-row">
        <Side change={row.left} number={row.left?.before} textOf={textOf} />
        <Side change={row.right} number={row.right?.after} textOf={textOf} onComment={onComment} />
        <HunkButtons hunk={row.hunk} actions={hunkActions} />
      </div>
    );
  }
  const { change } = row;
  return (
    <div className={`diff-row diff-${change.kind}`}>
      <span className="diff-number">{change.before === undefined ? "" : change.before + 1}</span>
      <LineNumber number={change.after} change={change} onComment={onComment} />
      <span className="diff-sign">{SIGNS[change.kind]}</span>
      <code>{textOf(change)}</code>
      <HunkButtons hunk={row.hunk} actions={hunkActions} />
    </div>
  );
}

const PLAIN: readonly Span[] = [];

/** A line with its colours, and the words in it that changed. */
function LineText({ text, runs, marks = PLAIN }: { text: string; runs: Run[] | undefined; marks: readonly Span[] | undefined }) {
  if (!runs && marks.length === 0) return text;
  return withMarks(runs ?? [["", text]], marks).map(({ className, text: piece, isMarked }, index) =>
    isMarked ? (
      <mark key={index} className={className || undefined}>
        {piece}
      </mark>
    ) : (
      <span key={index} className={className || undefined}>
        {piece}
      </span>
    ),
  );
}

function HunkButtons({ hunk, actions }: { hunk: Hunk | undefined; actions: HunkAction[] | undefined }) {
  if (!hunk || !actions?.length) return null;
  const { start, end } = hunk.after.end > hunk.after.start ? hunk.after : hunk.before;
  const lines = end - start === 1 ? `line ${end}` : `lines ${start + 1} to ${end}`;
  return (
    <span className="hunk-buttons">
      {actions.map(({ label, isDisabled, run }) => (
        <button key={label} type="button" className="hunk-button" disabled={isDisabled} aria-label={`${label} ${lines}`} onClick={() => run(hunk)}>
          {label}
        </button>
      ))}
    </span>
  );
}

interface SideProps {
  change: Change | undefined;
  number: number | undefined;
  textOf: TextOf;
  onComment?: OnComment;
}

function Side({ change, number, textOf, onComment }: SideProps) {
  return (
    <div className={change ? `diff-side diff-${change.kind}` : "diff-side diff-none"}>
      <LineNumber number={number} change={change} onComment={onComment} />
      <code>{change && textOf(change)}</code>
    </div>
  );
}

/** Where lines can be commented, their numbers are buttons. */
function LineNumber({ number, change, onComment }: { number: number | undefined; change: Change | undefined; onComment: OnComment }) {
  if (number === undefined || !change || !onComment) return <span className="diff-number">{number === undefined ? "" : number + 1}</span>;
  return (
    <button type="button" className="diff-number diff-comment" aria-label={`Comment on line ${number + 1}`} onClick={() => onComment(number, change.text)}>
      {number + 1}
    </button>
  );
}
