import { GROUP_LABELS } from "../../state/sessions";
import type { SessionGroup } from "../../state/sessions";

/** What a session is doing: by shape as well as by colour. */
export function StatusDot({ group }: { group: SessionGroup }) {
  return <span className={`dot dot-${group}`} role="img" aria-label={GROUP_LABELS[group]} title={GROUP_LABELS[group]} />;
}
