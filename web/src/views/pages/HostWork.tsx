// The log of the host, and what took how long, as the host tells it to whoever
// listens: from when it is opened, and the latest lines only.

import { useEffect, useState } from "react";
import { useApp, useHost } from "../../app/context";
import type { URI } from "../../protocol/types";
import { logLinesIn, spansIn } from "../../state/telemetry";

const MOST_LINES = 200;

const LEVELS = ["debug", "info", "warn", "error"];

const timeOf = (at: number) => new Date(at).toLocaleTimeString();

/** What comes over a channel while this is shown, the latest first. */
function useLatest<T>(channel: URI, method: string, read: (payload: unknown) => T[]): T[] {
  const host = useHost();
  const [lines, setLines] = useState<T[]>([]);
  useEffect(() => {
    setLines([]);
    return host.listening.to(channel, {
      hear: (heard, params) => {
        if (heard !== method) return;
        const latest = read(params.payload).reverse();
        setLines((known) => [...latest, ...known].slice(0, MOST_LINES));
      },
    });
  }, [host, channel, method, read]);
  return lines;
}

export function HostLog() {
  const template = useApp((state) => state.connection.telemetry?.logs);
  const [isOpen, setOpen] = useState(false);
  const [level, setLevel] = useState("info");
  if (!template) return null;
  return (
    <details className="metrics" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Host log</summary>
      {isOpen && (
        <>
          <label className="field inline">
            Least level
            <select value={level} onChange={({ target }) => setLevel(target.value)}>
              {LEVELS.map((it) => (
                <option key={it}>{it}</option>
              ))}
            </select>
          </label>
          <Lines channel={template.replace("{level}", level)} />
        </>
      )}
    </details>
  );
}

function Lines({ channel }: { channel: URI }) {
  const lines = useLatest(channel, "otlp/exportLogs", logLinesIn);
  if (lines.length === 0) return <p className="muted">Waiting for messages…</p>;
  return (
    <table className="usage lines">
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Level</th>
          <th scope="col">Message</th>
        </tr>
      </thead>
      <tbody>
        {lines.map(({ at, level, text, details }, index) => (
          <tr key={lines.length - index}>
            <td>{timeOf(at)}</td>
            <td>{level}</td>
            <td>
              {text} <span className="muted">{details}</span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function HostSpans() {
  const channel = useApp((state) => state.connection.telemetry?.traces);
  const [isOpen, setOpen] = useState(false);
  if (!channel) return null;
  return (
    <details className="metrics" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Turns and tools of the host</summary>
      {isOpen && <Spans channel={channel} />}
    </details>
  );
}

function Spans({ channel }: { channel: URI }) {
  const spans = useLatest(channel, "otlp/exportTraces", spansIn);
  if (spans.length === 0) return <p className="muted">Waiting for a turn or a tool call to end…</p>;
  return (
    <table className="usage lines">
      <thead>
        <tr>
          <th scope="col">Began</th>
          <th scope="col">Seconds</th>
          <th scope="col">What</th>
        </tr>
      </thead>
      <tbody>
        {spans.map(({ at, milliseconds, name, details }, index) => (
          <tr key={spans.length - index}>
            <td>{timeOf(at)}</td>
            <td>{(milliseconds / 1000).toLocaleString(undefined, { maximumFractionDigits: 3 })}</td>
            <td>
              {name} <span className="muted">{details}</span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
