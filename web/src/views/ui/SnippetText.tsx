import { piecesOf } from "../../state/search";
import type { Snippet } from "../../state/search";

/** A piece of what was said, with what was looked for marked. */
export function SnippetText({ snippet }: { snippet: Snippet }) {
  return (
    <bdi className="snippet">
      {piecesOf(snippet).map(({ text, isMarked }, index) => (isMarked ? <mark key={index}>{text}</mark> : text))}
    </bdi>
  );
}
