import { memo } from "react";
import { took } from "../../lib/time";
import type { Group } from "../../state/turns";
import { hasFailed, summaryOf } from "../../state/toolKinds";
import { Icon } from "../ui/Icon";

/** Many calls in one line: what they did, taken together. */
export const ToolGroup = memo(function ToolGroup({ group: { id, calls, isOpen, isLive }, onOpen }: { group: Group; onOpen: (id: string, isOpen: boolean) => void }) {
  const failures = calls.filter(hasFailed).length;
  return (
    <button type="button" className="tool-group disclosure" aria-expanded={isOpen} data-live={isLive || undefined} onClick={() => onOpen(id, !isOpen)}>
      <Icon name="chevron" />
      <span className="tool-group-summary">{summaryOf(calls)}</span>
      {failures > 0 && <span className="badge bad">{failures} failed</span>}
    </button>
  );
});

export function Elapsed({ ms }: { ms: number | undefined }) {
  // What is over in a moment needs no clock.
  if (ms === undefined || ms < 1_000) return null;
  return <span className="elapsed">{took(Math.floor(ms / 1_000) * 1_000)}</span>;
}
