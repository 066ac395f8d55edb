import { useApp } from "../../app/context";
import { tokens } from "../../lib/time";

/** How full the model's context is. */
export function ContextMeter() {
  const usage = useApp((state) => state.contextUsage);
  if (!usage) return <span className="spacer" />;
  const { used, window } = usage;
  const share = window ? Math.min(1, used / window) : undefined;
  const label = window ? `${tokens(used)} of ${tokens(window)} tokens` : `${tokens(used)} tokens`;
  return (
    <span className="context-meter" title={label}>
      {share !== undefined && <meter value={share} min={0} max={1} high={0.8} optimum={0} aria-label="Context used" />}
      <span>{share === undefined ? label : `${Math.round(share * 100)} %`}</span>
    </span>
  );
}
