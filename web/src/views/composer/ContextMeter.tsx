import { useApp } from "../../app/context";
import { money } from "../../lib/text";
import { tokens } from "../../lib/time";
import { costIn } from "../../state/model";

const RADIUS = 7;
const AROUND = 2 * Math.PI * RADIUS;
/** From here on there is little room left. */
const FULL = 0.8;

/** How full the model's context is, and what the conversation has cost. */
export function ContextMeter() {
  const usage = useApp((state) => state.contextUsage);
  if (!usage || (usage.used === 0 && usage.window === undefined)) return null;
  const { used, window } = usage;
  const share = window ? Math.min(1, used / window) : undefined;
  const cost = costIn(usage.usage, "sessionCost");
  const label = window ? `${tokens(used)} of ${tokens(window)} tokens of context` : `${tokens(used)} tokens`;
  return (
    <span className={share !== undefined && share >= FULL ? "context-meter full" : "context-meter"} title={cost ? `${label}, ${money(cost)} so far` : label}>
      {share !== undefined && (
        <svg className="context-ring" viewBox="0 0 18 18" role="meter" aria-label="Context used" aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(share * 100)}>
          <circle cx="9" cy="9" r={RADIUS} />
          <circle cx="9" cy="9" r={RADIUS} strokeDasharray={`${share * AROUND} ${AROUND}`} />
        </svg>
      )}
      <span className={share === undefined ? undefined : "only-wide"}>{share === undefined ? label : `${Math.round(share * 100)}%`}</span>
      {cost && <span>{money(cost)}</span>}
    </span>
  );
}
