import { lazy, Suspense, useLayoutEffect, useRef, useState } from "react";
import { beginningOf, endOf } from "../../lib/output";
import { count } from "../../lib/text";

/** Text that may be long: as much as is read at once, all of it on demand. */
const SHOWN = 6_000;

const AnsiText = lazy(() => import("./AnsiText"));

interface Props {
  text: string;
  className?: string;
  label?: string;
  /** How much is shown at first. */
  limit?: number;
  /** Of what a command printed, the end is what matters. */
  fromEnd?: boolean;
  /** Written for a terminal: its colours are shown. What is to be approved is not: it is shown as it is. */
  isPrinted?: boolean;
}

export function LongText({ text, className = "output", label = "Output", limit = SHOWN, fromEnd = false, isPrinted = false }: Props) {
  const [isWhole, setWhole] = useState(false);
  const element = useRef<HTMLPreElement>(null);
  const piece = isWhole ? { text, hidden: 0 } : fromEnd ? endOf(text, limit) : beginningOf(text, limit);
  useLayoutEffect(() => {
    if (fromEnd && element.current) element.current.scrollTop = element.current.scrollHeight;
  }, [fromEnd, text]);
  const more = piece.hidden > 0 && (
    <button type="button" className="link-button show-all" onClick={() => setWhole(true)}>
      Show {count(piece.hidden, fromEnd ? "earlier line" : "more line")}
    </button>
  );
  return (
    <>
      {fromEnd && more}
      <pre ref={element} className={className} tabIndex={0} aria-label={label}>
        {isPrinted && isForTerminals(piece.text) ? (
          <Suspense fallback={piece.text.replace(ESCAPE, "")}>
            <AnsiText text={piece.text} />
          </Suspense>
        ) : (
          piece.text
        )}
      </pre>
      {!fromEnd && more}
    </>
  );
}

/** Good enough for the moment in which the reader of colours is loaded. */
const ESCAPE = /\u001b\[[0-9;?]*[ -/]*[@-~]|\r/g;

/** Whether there is anything in a text that terminals do not show as text. */
function isForTerminals(text: string): boolean {
  return text.includes("\u001b") || text.includes("\r") || text.includes("\b") || text.includes("\u0007");
}
