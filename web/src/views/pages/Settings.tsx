import { useMemo, useState } from "react";
import { useApp, useHost } from "../../app/context";
import { canNotify, notificationsOn, setNotifications } from "../../app/notifications";
import { hostSetting, setHostSetting, setTheme } from "../../app/settings";
import type { Theme } from "../../app/settings";
import type { AgentInfo, ConfigSchema } from "../../protocol/types";
import { count } from "../../lib/text";
import { commitOf } from "../../state/model";
import { ConfigForm } from "../ConfigForm";
import { Accounts } from "../decide/SignIn";
import { Keys } from "../KeysDialog";
import { HostLog, HostSpans } from "./HostWork";
import { Metrics } from "./Metrics";
import { Usage } from "./Usage";

const THEMES: [Theme, string][] = [
  ["system", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
];
const DIFFS = [
  ["unified", "Unified"],
  ["split", "Side by side"],
] as const;

/** What has a control of its own above the form. */
const OWN_CONTROLS = ["appearance", "diffView"];

export function Settings() {
  const host = useHost();
  const config = useApp((state) => state.root?.config);
  const server = useApp((state) => state.connection.server);
  const active = useApp((state) => state.root?.activeSessions);
  const commit = useApp((state) => commitOf(state.root));
  const theme = useApp((state) => hostSetting(state.root, "appearance") ?? "system");
  const diffView = useApp((state) => hostSetting(state.root, "diffView") ?? "unified");
  const agents = useApp((state) => state.root?.agents);
  const others = useMemo(() => config && otherSettings(config.schema, agents ?? []), [config, agents]);
  const [notifies, setNotifies] = useState(notificationsOn);
  return (
    <div className="page">
      <div className="page-body form">
        <h1>Settings</h1>
        <h2>Everywhere</h2>
        <p className="muted page-hint">The host keeps these. They follow you to every client.</p>
        <fieldset className="field">
          <legend>Appearance</legend>
          <div className="segments">
            {THEMES.map(([name, label]) => (
              <label key={name}>
                <input type="radio" name="theme" checked={theme === name} onChange={() => setTheme(host, name)} />
                {label}
              </label>
            ))}
          </div>
        </fieldset>
        <fieldset className="field">
          <legend>Diffs</legend>
          <div className="segments">
            {DIFFS.map(([value, label]) => (
              <label key={value}>
                <input type="radio" name="diffView" checked={diffView === value} onChange={() => setHostSetting(host, "diffView", value)} />
                {label}
              </label>
            ))}
          </div>
        </fieldset>
        {config && others && (
          <ConfigForm
            schema={others}
            values={config.values}
            onChange={(key, value) => host.store.dispatch("ahp-root://", { type: "root/configChanged", config: { [key]: value } })}
          />
        )}
        <h2>This browser</h2>
        <div className="field inline">
          <input
            id="notify"
            type="checkbox"
            checked={notifies}
            disabled={!canNotify()}
            onChange={(event) => void setNotifications(event.target.checked).then(setNotifies)}
          />
          <label htmlFor="notify">Notify me when a session is done, fails or needs me</label>
          <small>{canNotify() ? "While a page is open and you look elsewhere." : "This browser does not allow notifications from this page."}</small>
        </div>
        <Accounts />
        <Usage />
        <h2>Keyboard</h2>
        <Keys />
        <h2>Connection</h2>
        <p className="muted">
          {server?.title ?? server?.name ?? "Host"} {server?.version}
          {commit && ` (${commit.slice(0, 10)})`} · web client {__APP_VERSION__}
          {active !== undefined && ` · ${count(active, "session")}`}
        </p>
        <Metrics />
        <HostLog />
        <HostSpans />
        <a className="button" href="#/connect">
          Connect to another host
        </a>
      </div>
    </div>
  );
}

/** The schema without those, and with the agents that there are as choices. */
function otherSettings(schema: ConfigSchema, agents: AgentInfo[]): ConfigSchema {
  const properties = Object.entries(schema.properties).filter(([key]) => !OWN_CONTROLS.includes(key));
  const withChoices = properties.map(([key, property]) => {
    if (key !== "defaultAgent") return [key, property] as const;
    return [key, { ...property, enum: agents.map(({ provider }) => provider), enumLabels: agents.map(({ displayName }) => displayName) }] as const;
  });
  return { ...schema, properties: Object.fromEntries(withChoices) };
}
