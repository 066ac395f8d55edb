import { useNow } from "../../lib/now";
import { ago } from "../../lib/time";

/** How long ago something was: it moves on by itself, and tells the exact time on demand. */
export function Ago({ at, className }: { at: string; className?: string }) {
  const now = useNow();
  const time = Date.parse(at);
  const exact = Number.isNaN(time) ? undefined : new Date(time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  // A row that is newer than the last tick happened now, not in the future.
  return (
    <time dateTime={at} title={exact} className={className}>
      {ago(at, Math.max(now, time || 0))}
    </time>
  );
}
