// A difference between two texts, as one column or two. Only the rows near
// the window are in the page, so its length does not matter.

import { memo, useMemo, useRef } from "react";
import { Virtualizer } from "virtua";
import { diffLines, linesOf } from "../../lib/diff/lines";
import type { Change } from "../../lib/diff/lines";
import { split, unified } from "../../lib/diff/rows";
import type { Pair, Row } from "../../lib/diff/rows";

export type DiffStyle = "unified" | "split";

interface Props {
  before: string;
  after: string;
  style: DiffStyle;
}

const ROW_HEIGHT = 20;

export const DiffView = memo(function DiffView({ before, after, style }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => unified(diffLines(linesOf(before), linesOf(after))), [before, after]);
  const shown = useMemo(() => (style === "split" ? split(rows) : rows), [rows, style]);
  if (rows.length === 0) return <p className="muted">No difference</p>;
  return (
    <div className={`diff diff-${style}`} ref={scroller} tabIndex={0} role="region" aria-label="Difference">
      <Virtualizer scrollRef={scroller} data={shown as (Row | Pair)[]} itemSize={ROW_HEIGHT}>
        {(row, index) => <DiffRow key={index} row={row} />}
      </Virtualizer>
    </div>
  );
});

const SIGNS = { same: " ", removed: "−", added: "+" } as const;

function DiffRow({ row }: { row: Row | Pair }) {
  if (row.kind === "gap") return <div className="diff-gap">⋯ {row.count} unchanged</div>;
  if (row.kind === "pair") {
    return (
      <div className="diff-row">
        <Side change={row.left} number={row.left?.before} />
        <Side change={row.right} number={row.right?.after} />
      </div>
    );
  }
  const { change } = row;
  return (
    <div className={`diff-row diff-${change.kind}`}>
      <span className="diff-number">{change.before === undefined ? "" : change.before + 1}</span>
      <span className="diff-number">{change.after === undefined ? "" : change.after + 1}</span>
      <span className="diff-sign">{SIGNS[change.kind]}</span>
      <code>{change.text}</code>
    </div>
  );
}

function Side({ change, number }: { change: Change | undefined; number: number | undefined }) {
  return (
    <div className={change ? `diff-side diff-${change.kind}` : "diff-side diff-none"}>
      <span className="diff-number">{number === undefined ? "" : number + 1}</span>
      <code>{change?.text ?? ""}</code>
    </div>
  );
}
