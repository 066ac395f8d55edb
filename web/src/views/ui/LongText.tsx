import { useState } from "react";

/** Output that may be long: the end of it first, all of it on demand. */
const SHOWN = 6_000;

export function LongText({ text, className = "output" }: { text: string; className?: string }) {
  const [isWhole, setWhole] = useState(false);
  const isCut = text.length > SHOWN && !isWhole;
  return (
    <>
      {isCut && (
        <button type="button" className="link-button" onClick={() => setWhole(true)}>
          Show all {Math.round(text.length / 1024).toLocaleString()} KB
        </button>
      )}
      <pre className={className} tabIndex={0} aria-label="Output">
        {isCut ? text.slice(-SHOWN) : text}
      </pre>
    </>
  );
}
