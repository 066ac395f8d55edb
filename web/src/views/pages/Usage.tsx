import { useEffect, useState } from "react";
import { useApp, useHost } from "../../app/context";
import { usageSince } from "../../app/search";
import { count, money } from "../../lib/text";
import { tokens } from "../../lib/time";
import { byDay, knows, USAGE } from "../../state/search";
import type { Day } from "../../state/search";

const DAYS = 30;

/** What agents have used in the last weeks, where they say so. */
export function Usage() {
  const host = useHost();
  const isKnown = useApp((state) => knows(state.root, USAGE));
  const [days, setDays] = useState<Day[]>();
  useEffect(() => {
    if (!isKnown) return;
    let isCurrent = true;
    const from = new Date(Date.now() - DAYS * 86_400_000);
    usageSince(host, from).then(
      (items) => isCurrent && setDays(byDay(items)),
      () => isCurrent && setDays([]),
    );
    return () => {
      isCurrent = false;
    };
  }, [host, isKnown]);
  if (!isKnown || !days) return null;
  return (
    <>
      <h2>Usage</h2>
      <p className="muted page-hint">The last {DAYS} days, as far as agents report it.</p>
      {days.length === 0 ? (
        <p className="muted">No usage reported yet.</p>
      ) : (
        <table className="usage">
          <thead>
            <tr>
              <th scope="col">Day</th>
              <th scope="col">Turns</th>
              <th scope="col">Tokens</th>
              <th scope="col">Cost</th>
            </tr>
          </thead>
          <tbody>
            {days.map(({ day, turns, tokens: used, costs }) => (
              <tr key={day}>
                <th scope="row">{new Date(`${day}T12:00:00`).toLocaleDateString(undefined, { weekday: "short", month: "short", day: "numeric" })}</th>
                <td>{count(turns, "turn")}</td>
                <td>{tokens(used)}</td>
                <td>{costs.map(money).join(" + ") || "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
