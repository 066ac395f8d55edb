import { useApp } from "../../app/context";
import { money } from "../../lib/text";
import { tokens } from "../../lib/time";
import { costIn } from "../../state/model";

/** How full the model's context is. */
export function ContextMeter() {
  const usage = useApp((state) => state.contextUsage);
  if (!usage) return <span className="spacer" />;
  const { used, window } = usage;
  const share = window ? Math.min(1, used / window) : undefined;
  const cost = costIn(usage.usage, "sessionCost");
  const label = window ? `${tokens(used)} of ${tokens(window)} tokens` : `${tokens(used)} tokens`;
  return (
    <span className="context-meter" title={cost ? `${label}, ${money(cost)} so far` : label}>
      {share !== undefined && <meter value={share} min={0} max={1} high={0.8} optimum={0} aria-label="Context used" />}
      <span>{share === undefined ? label : `${Math.round(share * 100)} %`}</span>
      {cost && <span>{money(cost)}</span>}
    </span>
  );
}
