// The numbers of the host, as it tells them to whoever listens.

import { useEffect, useState } from "react";
import { useApp, useHost } from "../../app/context";
import type { URI } from "../../protocol/types";
import { metricsIn } from "../../state/metrics";
import type { Metric } from "../../state/metrics";

/** They are listened to while they are open. */
export function Metrics() {
  const channel = useApp((state) => state.connection.telemetry?.metrics);
  const [isOpen, setOpen] = useState(false);
  if (!channel) return null;
  return (
    <details className="metrics" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Host metrics</summary>
      {isOpen && <Table channel={channel} />}
    </details>
  );
}

function Table({ channel }: { channel: URI }) {
  const host = useHost();
  const [metrics, setMetrics] = useState<Metric[]>();
  useEffect(
    () =>
      host.listening.to(channel, {
        hear: (method, params) => {
          if (method === "otlp/exportMetrics") setMetrics(metricsIn(params.payload));
        },
        gone: () => setMetrics([]),
      }),
    [host, channel],
  );
  if (!metrics) return <p className="muted">Waiting for metrics…</p>;
  const rows = metrics.flatMap(({ name, description, unit, values }) => values.map((value) => ({ name, description, unit, ...value })));
  if (rows.length === 0) return <p className="muted">The host reports no metrics.</p>;
  return (
    <table className="usage">
      <thead>
        <tr>
          <th scope="col">Metric</th>
          <th scope="col">Of</th>
          <th scope="col">Value</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, description, unit, labels, value }) => (
          <tr key={`${name} ${labels}`}>
            <th scope="row" title={description}>
              {name}
            </th>
            <td>{labels}</td>
            <td>
              {value.toLocaleString(undefined, { maximumFractionDigits: 3 })} {unit === "1" ? "" : unit}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
