/** The shape of what is on its way, for eyes; words for screen readers. */
export function Skeleton({ shape, label = "Loading…" }: { shape: "page" | "conversation" | "list" | "pane" | "lines"; label?: string }) {
  return (
    <div className={`skeletons skeletons-${shape}`} role="status">
      <span className="sr-only">{label}</span>
      {Array.from({ length: LINES[shape] }, (_, line) => (
        <span key={line} className="skeleton" />
      ))}
    </div>
  );
}

const LINES = { page: 5, conversation: 6, list: 8, pane: 6, lines: 3 };
