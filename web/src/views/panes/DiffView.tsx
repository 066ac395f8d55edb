// A difference between two texts, as one column or two. Only the rows near
// the window are in the page, so its length does not matter.

import { memo, useMemo, useRef, useState } from "react";
import type { ReactNode } from "react";
import { Virtualizer } from "virtua";
import { diffLines, linesOf } from "../../lib/diff/lines";
import type { Change } from "../../lib/diff/lines";
import { split, unified } from "../../lib/diff/rows";
import type { Pair, Row } from "../../lib/diff/rows";
import { CommentForm } from "./Comments";

export type DiffStyle = "unified" | "split";

/** What is written about lines of the later text, and how more is. */
export interface DiffComments {
  under: (line: number) => ReactNode;
  onComment: (line: number, quote: string, text: string) => void;
}

interface Props {
  before: string;
  after: string;
  style: DiffStyle;
  comments?: DiffComments;
}

const ROW_HEIGHT = 20;

export const DiffView = memo(function DiffView({ before, after, style, comments }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const [commented, setCommented] = useState<number>();
  const rows = useMemo(() => unified(diffLines(linesOf(before), linesOf(after))), [before, after]);
  const shown = useMemo(() => (style === "split" ? split(rows) : rows), [rows, style]);
  if (rows.length === 0) return <p className="muted">No difference</p>;
  const begin = comments && setCommented;
  const below = ({ after: line, text: quote }: Change) => {
    if (!comments || line === undefined) return null;
    return (
      <>
        {comments.under(line)}
        {commented === line && (
          <CommentForm
            label={`Comment on line ${line + 1}`}
            onCancel={() => setCommented(undefined)}
            onSave={(text) => {
              comments.onComment(line, quote, text);
              setCommented(undefined);
            }}
          />
        )}
      </>
    );
  };
  return (
    <div className={`diff diff-${style}`} ref={scroller} tabIndex={0} role="region" aria-label="Difference">
      <Virtualizer scrollRef={scroller} data={shown as (Row | Pair)[]} itemSize={ROW_HEIGHT}>
        {(row, index) => (
          <div key={index}>
            <DiffRow row={row} onComment={begin} />
            {row.kind === "line" && below(row.change)}
            {row.kind === "pair" && row.right && below(row.right)}
          </div>
        )}
      </Virtualizer>
    </div>
  );
});

const SIGNS = { same: " ", removed: "−", added: "+" } as const;

type OnComment = ((line: number) => void) | undefined;

function DiffRow({ row, onComment }: { row: Row | Pair; onComment: OnComment }) {
  if (row.kind === "gap") return <div className="diff-gap">⋯ {row.count} unchanged</div>;
  if (row.kind === "pair") {
    return (
      <div className="diff-row">
        <Side change={row.left} number={row.left?.before} />
        <Side change={row.right} number={row.right?.after} onComment={onComment} />
      </div>
    );
  }
  const { change } = row;
  return (
    <div className={`diff-row diff-${change.kind}`}>
      <span className="diff-number">{change.before === undefined ? "" : change.before + 1}</span>
      <LineNumber number={change.after} onComment={onComment} />
      <span className="diff-sign">{SIGNS[change.kind]}</span>
      <code>{change.text}</code>
    </div>
  );
}

function Side({ change, number, onComment }: { change: Change | undefined; number: number | undefined; onComment?: OnComment }) {
  return (
    <div className={change ? `diff-side diff-${change.kind}` : "diff-side diff-none"}>
      <LineNumber number={number} onComment={onComment} />
      <code>{change?.text ?? ""}</code>
    </div>
  );
}

/** Where lines can be commented, their numbers are buttons. */
function LineNumber({ number, onComment }: { number: number | undefined; onComment: OnComment }) {
  if (number === undefined || !onComment) return <span className="diff-number">{number === undefined ? "" : number + 1}</span>;
  return (
    <button type="button" className="diff-number diff-comment" aria-label={`Comment on line ${number + 1}`} onClick={() => onComment(number)}>
      {number + 1}
    </button>
  );
}
