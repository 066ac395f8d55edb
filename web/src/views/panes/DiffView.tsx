// A difference between two texts, as one column or two. Only the rows near
// the window are in the page, so its length does not matter.

import { memo, useMemo, useRef } from "react";
import type { ReactNode } from "react";
import { Virtualizer } from "virtua";
import { diffLines, linesOf } from "../../lib/diff/lines";
import type { Change } from "../../lib/diff/lines";
import { split, unified } from "../../lib/diff/rows";
import type { Hunk, Pair, Row } from "../../lib/diff/rows";

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
  comments?: DiffComments;
  hunkActions?: HunkAction[];
}

const ROW_HEIGHT = 20;

export const DiffView = memo(function DiffView({ before, after, style, comments, hunkActions }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => unified(diffLines(linesOf(before), linesOf(after))), [before, after]);
  const shown = useMemo(() => (style === "split" ? split(rows) : rows), [rows, style]);
  const below = ({ after: line }: Change) => (line === undefined ? null : comments?.under(line));
  if (rows.length === 0)
    return (
      <>
        {comments?.above}
        <p className="muted">No difference</p>
      </>
    );
  return (
    <div className={`diff diff-${style}`} ref={scroller} tabIndex={0} role="region" aria-label="Difference">
      {comments?.above}
      <Virtualizer scrollRef={scroller} data={shown as (Row | Pair)[]} itemSize={ROW_HEIGHT}>
        {(row, index) => (
          <div key={index}>
            <DiffRow row={row} onComment={comments?.onComment} hunkActions={hunkActions} />
            {row.kind === "line" && below(row.change)}
            {row.kind === "pair" && row.right && below(row.right)}
          </div>
        )}
      </Virtualizer>
    </div>
  );
});

const SIGNS = { same: " ", removed: "−", added: "+" } as const;

type OnComment = DiffComments["onComment"] | undefined;

interface RowProps {
  row: Row | Pair;
  onComment: OnComment;
  hunkActions: HunkAction[] | undefined;
}

function DiffRow({ row, onComment, hunkActions }: RowProps) {
  if (row.kind === "gap") return <div className="diff-gap">⋯ {row.count} unchanged</div>;
  if (row.kind === "pair") {
    return (
      <div className="diff-row">
        <Side change={row.left} number={row.left?.before} />
        <Side change={row.right} number={row.right?.after} onComment={onComment} />
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
      <code>{change.text}</code>
      <HunkButtons hunk={row.hunk} actions={hunkActions} />
    </div>
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

function Side({ change, number, onComment }: { change: Change | undefined; number: number | undefined; onComment?: OnComment }) {
  return (
    <div className={change ? `diff-side diff-${change.kind}` : "diff-side diff-none"}>
      <LineNumber number={number} change={change} onComment={onComment} />
      <code>{change?.text ?? ""}</code>
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
