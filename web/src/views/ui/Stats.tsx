import type { FileEdit } from "../../protocol/types";

/** How many lines came and went. */
export function Stats({ diff }: { diff: FileEdit["diff"] }) {
  if (!diff) return null;
  return (
    <span className="stats">
      {diff.added !== undefined && <span className="added">+{diff.added}</span>} {diff.removed !== undefined && <span className="removed">−{diff.removed}</span>}
    </span>
  );
}
