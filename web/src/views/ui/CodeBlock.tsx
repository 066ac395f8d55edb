// A piece of code. Its text is written straight into the page and only ever
// appended to, so that a long fence which is still open costs its last lines.

import { memo, useLayoutEffect, useRef, useState } from "react";
import { highlight } from "../../lib/highlight";
import type { Run } from "../../lib/highlight/runs";
import { CopyButton } from "./CopyButton";

interface Props {
  source: string;
  language: string;
  isOpen?: boolean;
}

/** The page lays out a chunk at a time; finished ones out of sight are skipped. */
const CHUNK = 4_000;

export const CodeBlock = memo(function CodeBlock({ source, language, isOpen = false }: Props) {
  const code = useRef<HTMLElement>(null);
  const written = useRef(0);
  const [runs, setRuns] = useState<{ source: string; runs: Run[] }>();

  useLayoutEffect(() => {
    const element = code.current;
    if (!element || runs?.source === source) return;
    if (source.length < written.current || !element.firstChild) {
      element.replaceChildren();
      written.current = 0;
    }
    append(element, source.slice(written.current));
    written.current = source.length;
  }, [source, runs]);

  useLayoutEffect(() => {
    const element = code.current;
    if (!element || runs?.source !== source) return;
    element.replaceChildren(...runs.runs.map(spanOf));
    // What comes later, if anything does, is written from the beginning.
    written.current = Number.POSITIVE_INFINITY;
  }, [runs, source]);

  useLayoutEffect(() => {
    if (isOpen) return;
    let isCurrent = true;
    void highlight(source, language).then((found) => {
      if (isCurrent && found) setRuns({ source, runs: found });
    });
    return () => {
      isCurrent = false;
    };
  }, [source, language, isOpen]);

  return (
    <div className="code-block">
      <div className="code-head">
        <span>{language || "text"}</span>
        <CopyButton text={source} label="Copy code" />
      </div>
      <pre tabIndex={0} aria-label={language ? `${language} code` : "code"}>
        <code ref={code} />
      </pre>
    </div>
  );
});

function append(element: HTMLElement, text: string): void {
  let rest = text;
  let chunk = element.lastElementChild as HTMLElement | null;
  while (rest) {
    const used = chunk?.firstChild?.nodeValue?.length ?? 0;
    if (!chunk || used >= CHUNK) {
      chunk = element.appendChild(document.createElement("span"));
      chunk.className = "code-chunk";
      chunk.appendChild(document.createTextNode(""));
    }
    const room = CHUNK - (chunk.firstChild?.nodeValue?.length ?? 0);
    const cut = rest.length <= room ? rest.length : breakAfter(rest, room);
    (chunk.firstChild as Text).appendData(rest.slice(0, cut));
    rest = rest.slice(cut);
    if (rest) chunk = null;
  }
}

/** Chunks end at lines, or where a line is longer than a chunk should be. */
function breakAfter(text: string, room: number): number {
  const end = text.indexOf("\n", Math.max(0, room));
  return end < 0 || end > room + CHUNK ? Math.min(text.length, Math.max(1, room) + CHUNK) : end + 1;
}

function spanOf([className, text]: Run): Node {
  if (!className) return document.createTextNode(text);
  const span = document.createElement("span");
  span.className = className;
  span.textContent = text;
  return span;
}
