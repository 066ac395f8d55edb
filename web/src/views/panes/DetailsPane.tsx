import { isOwnClient } from "../../app/client";
import { configure } from "../../app/sessions";
import { useApp, useHost } from "../../app/context";
import { count, firstLine } from "../../lib/text";
import { schemaOfSession } from "../../state/sessionSettings";
import { ConfigForm } from "../ConfigForm";
import { Customizations } from "./Customizations";
import { Directories } from "./Directories";
import { PaneHead } from "./PaneHead";
import type { PaneProps } from "./PaneHead";

export default function DetailsPane({ route }: PaneProps) {
  const host = useHost();
  const session = useApp((state) => state.session);
  const agent = useApp((state) => state.root?.agents.find(({ provider }) => provider === session?.provider)?.displayName);
  if (!session) return null;
  const { config, activeClients, workingDirectories, provider, customizations, serverTools } = session;
  const schema = schemaOfSession(session);
  return (
    <>
      <PaneHead title="Details" route={route} />
      <div className="pane-body">
        <dl className="facts">
          <dt>Agent</dt>
          <dd>{agent ?? provider}</dd>
          <dt>Directories</dt>
          <dd>
            <Directories session={route.session} directories={workingDirectories ?? []} />
          </dd>
          <dt>Address</dt>
          <dd>
            <code>{route.session}</code>
          </dd>
          <dt>Here now</dt>
          <dd>
            {activeClients.filter(({ clientId }) => clientId === host.store.clientId || !isOwnClient(clientId)).map(({ clientId, displayName }) => (
              <span key={clientId} className="chip">
                {displayName ?? "A client"}
                {clientId === host.store.clientId && " (this one)"}
              </span>
            ))}
          </dd>
        </dl>
        {config && schema && Object.keys(schema.properties).length > 0 && (
          <>
            <h3>Settings of this session</h3>
            <ConfigForm
              schema={schema}
              values={config.values}
              isFixed={(_, property) => property.sessionMutable !== true}
              onChange={(key, value) => configure(host, route.session, { [key]: value })}
            />
          </>
        )}
        {serverTools && serverTools.length > 0 && (
          <details>
            <summary>{count(serverTools.length, "tool")} of the host and its agent</summary>
            <ul>
              {serverTools.map(({ name, title, description, _meta }) => (
                <li key={name}>
                  {title ?? name}
                  {typeof _meta?.mcpServerName === "string" && <span className="muted"> · {_meta.mcpServerName}</span>}
                  {description && <p className="muted">{firstLine(description)}</p>}
                </li>
              ))}
            </ul>
          </details>
        )}
        <Customizations session={route.session} customizations={customizations ?? []} agent={agent ?? provider} />
      </div>
    </>
  );
}
