// The agents that the host can install, each with a button, how far it is and
// what came of it.

import { useApp, useHost } from "../../app/context";
import { useInstalling } from "../../app/installing";
import type { Installing } from "../../app/installing";
import { installStatus, installToken, toInstall } from "../../state/installing";
import type { Installable } from "../../state/installing";
import { Ticked } from "../ui/Ticked";

export function InstallAgents() {
  const host = useHost();
  const isConnected = useApp((state) => state.connected);
  const agents = useApp((state) => state.root?.agents);
  const installing = useInstalling(host, isConnected);
  const { items, problem, asked } = installing;
  const offered = toInstall(items ?? [], agents ?? [], asked);
  return (
    <>
      {problem && (
        <p className="problem" role="alert">
          <Ticked text={problem} />
        </p>
      )}
      {!items && !problem && (
        <p className="muted" role="status">
          <span className="spinner" /> Looking for agents…
        </p>
      )}
      <ul className="installable">
        {offered.map((agent) => (
          <Row key={agent.provider} agent={agent} installing={installing} />
        ))}
      </ul>
    </>
  );
}

function Row({ agent, installing: { asked, install, cancel } }: { agent: Installable; installing: Installing }) {
  const { provider, name, description, source, package: spec } = agent;
  const line = useApp((state) => state.starting.get(installToken(provider)));
  const how = asked.get(provider);
  const isRunning = how?.kind === "running" || (!how && agent.installing);
  const status = installStatus(agent, how, line);
  return (
    <li>
      <span className="installable-name">
        <strong>{name}</strong>
        <small className="muted">
          {description} ({source} <code>{spec}</code>)
        </small>
        {status && (
          <small className={how?.kind === "failed" ? "problem" : "muted"} role={how?.kind === "failed" ? "alert" : "status"}>
            {isRunning && <span className="spinner" />} <Ticked text={status} />
          </small>
        )}
      </span>
      {isRunning ? (
        <button type="button" className="button" aria-label={`Cancel: ${name}`} onClick={() => void cancel(provider)}>
          Cancel
        </button>
      ) : (
        how?.kind !== "done" && (
          <button type="button" className="button" aria-label={`Install ${name}`} onClick={() => void install(agent)}>
            {how?.kind === "failed" ? "Try again" : "Install"}
          </button>
        )
      )}
    </li>
  );
}
