import { useApp, useHost } from "../app/context";

/** Shown while there is no connection; nothing has to be done about it. */
export function ConnectionBanner() {
  const { connection } = useHost();
  const { phase, attempt } = useApp((state) => state.connection);
  if (phase !== "reconnecting" && !(phase === "connecting" && attempt > 0)) return null;
  return (
    <div className="banner" role="status">
      <span className="working-dots" aria-hidden="true" /> {phase === "reconnecting" ? "Connection lost. Reconnecting…" : "The host does not answer. Trying again…"}
      <button type="button" className="link-button" onClick={() => connection.nudge()}>
        Try now
      </button>
    </div>
  );
}
