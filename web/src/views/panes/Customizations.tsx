// Skills, agents, rules, plugins and MCP servers of a session: what is there,
// what is on, what is wrong with it.

import { useHost } from "../../app/context";
import type { ChildCustomization, Customization, McpServerCustomization } from "../../protocol/types";
import { childrenOf, decided, deliveryOf, iconOf, isOn, serverControls } from "../../state/customizations";
import { SignIn } from "../decide/SignIn";
import { ServerOffer } from "./ServerOffer";

interface Props {
  session: string;
  customizations: Customization[];
  /** The session's agent, by the name that people know. */
  agent: string;
}

export function Customizations({ session, customizations, agent }: Props) {
  if (customizations.length === 0) return null;
  return (
    <>
      <h3>Customizations</h3>
      <p className="muted page-hint">Found in the project, your home directory and plugins. A change holds for this session. MCP servers start and stop at once; all else holds when the agent is started the next time.</p>
      <ul className="customizations">
        {customizations.map((container) => (
          <li key={container.id}>
            <Toggle session={session} agent={agent} item={container} />
            <ul>
              {childrenOf(container).map((child) => (
                <li key={child.id}>
                  <Toggle session={session} agent={agent} item={child} isOff={!isOn(container)} />
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </>
  );
}

const STATES = { starting: "starting", ready: "ready", authRequired: "needs sign-in", error: "failed", stopped: "stopped" } as const;

function Toggle({ session, agent, item, isOff = false }: { session: string; agent: string; item: Customization | ChildCustomization; isOff?: boolean }) {
  const { store } = useHost();
  const toggle = (enabled: boolean) =>
    store.dispatch(session, { type: "session/customizationToggled", id: item.id, enablement: decided(item, enabled) });
  const server = item.type === "mcpServer" ? item.state : undefined;
  const icon = iconOf(item);
  const delivery = deliveryOf(item, isOff || !isOn(item), agent);
  return (
    <>
      <label className={isOff ? "customization off" : "customization"}>
        <input type="checkbox" checked={isOn(item)} onChange={(event) => toggle(event.target.checked)} />
        {icon && <img className="customization-icon" src={icon} alt="" />}
        <span className="customization-name">{item.name}</span>
        {item.type !== "directory" && <span className="badge">{item.type === "mcpServer" ? "MCP server" : item.type}</span>}
        {server && server.kind !== "stopped" && <span className={server.kind === "ready" ? "badge ok" : "badge"}>{STATES[server.kind]}</span>}
      </label>
      {"description" in item && item.description && <small className="muted">{item.description}</small>}
      {delivery && <small className="muted delivery">{delivery}</small>}
      {"load" in item && item.load && "message" in item.load && <p className="problem">{item.load.message}</p>}
      {server?.kind === "error" && <p className="problem">{server.error.message}</p>}
      {server?.kind === "authRequired" && server.resource && <SignIn resource={server.resource} client={server.oauthClient?.clientId} />}
      {item.type === "mcpServer" && item.channel && <ServerOffer name={item.name} channel={item.channel} />}
      {item.type === "mcpServer" && <ServerControls session={session} server={item} isOff={isOff || !isOn(item)} />}
    </>
  );
}

function ServerControls({ session, server, isOff }: { session: string; server: McpServerCustomization; isOff: boolean }) {
  const { store } = useHost();
  const controls = serverControls(server, isOff);
  if (controls.length === 0) return null;
  return (
    <div className="button-row">
      {controls.map(({ request, label }) => (
        <button
          key={request}
          type="button"
          className="button"
          aria-label={`${label}: ${server.name}`}
          onClick={() => store.dispatch(session, { type: `session/mcpServer${request}Requested`, id: server.id })}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
