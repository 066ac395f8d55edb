import { useLayoutEffect, useRef, useState } from "react";

/** Text that may be long: as much as is read at once, all of it on demand. */
const SHOWN = 6_000;

interface Props {
  text: string;
  className?: string;
  label?: string;
  /** How much is shown at first. */
  limit?: number;
  /** Of what a command printed, the end is what matters. */
  fromEnd?: boolean;
}

export function LongText({ text, className = "output", label = "Output", limit = SHOWN, fromEnd = false }: Props) {
  const [isWhole, setWhole] = useState(false);
  const element = useRef<HTMLPreElement>(null);
  const isCut = text.length > limit && !isWhole;
  useLayoutEffect(() => {
    if (fromEnd && element.current) element.current.scrollTop = element.current.scrollHeight;
  }, [fromEnd, text]);
  const more = isCut && (
    <button type="button" className="link-button show-all" onClick={() => setWhole(true)}>
      Show all {Math.round(text.length / 1024).toLocaleString()} KB
    </button>
  );
  return (
    <>
      {fromEnd && more}
      <pre ref={element} className={className} tabIndex={0} aria-label={label}>
        {!isCut ? text : fromEnd ? text.slice(-limit) : text.slice(0, limit)}
      </pre>
      {!fromEnd && more}
    </>
  );
}
