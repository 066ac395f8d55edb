import { configure } from "../../app/sessions";
import { useApp, useHost } from "../../app/context";
import { pathOf } from "../../protocol/uri";
import type { McpServerCustomization, SessionState } from "../../protocol/types";
import { ConfigForm } from "../ConfigForm";
import { SignIn } from "../decide/SignIn";
import { PaneHead } from "./PaneHead";
import type { PaneProps } from "./PaneHead";

export default function DetailsPane({ route }: PaneProps) {
  const host = useHost();
  const session = useApp((state) => state.session);
  if (!session) return null;
  const { config, activeClients, workingDirectories, provider } = session;
  return (
    <>
      <PaneHead title="Details" route={route} />
      <div className="pane-body">
        <dl className="facts">
          <dt>Agent</dt>
          <dd>{provider}</dd>
          <dt>Directories</dt>
          <dd>{workingDirectories?.map(pathOf).join(", ") || "none"}</dd>
          <dt>Address</dt>
          <dd>
            <code>{route.session}</code>
          </dd>
          <dt>Here now</dt>
          <dd>
            {activeClients.map(({ clientId, displayName }) => (
              <span key={clientId} className="chip">
                {displayName ?? "A client"}
                {clientId === host.store.clientId && " (this one)"}
              </span>
            ))}
          </dd>
        </dl>
        <McpServers servers={serversOf(session)} />
        {config && Object.keys(config.schema.properties).length > 0 && (
          <>
            <h3>Settings of this session</h3>
            <ConfigForm
              schema={config.schema}
              values={config.values}
              isFixed={(_, property) => property.sessionMutable !== true}
              onChange={(key, value) => configure(host, route.session, { [key]: value })}
            />
          </>
        )}
      </div>
    </>
  );
}

function serversOf({ customizations = [] }: SessionState): McpServerCustomization[] {
  const all = customizations.flatMap((known) => [known, ...("children" in known ? (known.children ?? []) : [])]);
  return all.filter((known) => known.type === "mcpServer");
}

const STATES = { starting: "starting", ready: "ready", authRequired: "needs sign-in", error: "failed", stopped: "stopped" } as const;

function McpServers({ servers }: { servers: McpServerCustomization[] }) {
  if (servers.length === 0) return null;
  return (
    <>
      <h3>MCP servers</h3>
      <ul className="servers">
        {servers.map(({ id, name, state }) => (
          <li key={id}>
            <span>{name}</span> <span className={state.kind === "ready" ? "badge ok" : "badge"}>{STATES[state.kind]}</span>
            {state.kind === "error" && <p className="problem">{state.error.message}</p>}
            {state.kind === "authRequired" && state.resource && <SignIn resource={state.resource} />}
          </li>
        ))}
      </ul>
    </>
  );
}
