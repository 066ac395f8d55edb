import { useState } from "react";
import { useApp, useHost } from "../../app/context";
import { canNotify, notificationsOn, setNotifications } from "../../app/notifications";
import { currentTheme, setTheme } from "../../app/settings";
import type { Theme } from "../../app/settings";
import { ConfigForm } from "../ConfigForm";
import { SHORTCUTS } from "../shortcuts";

const THEMES: Theme[] = ["system", "light", "dark"];

export function Settings() {
  const host = useHost();
  const config = useApp((state) => state.root?.config);
  const server = useApp((state) => state.connection.server);
  const [theme, choose] = useState(currentTheme);
  const [notifies, setNotifies] = useState(notificationsOn);
  return (
    <div className="page">
      <div className="page-body form">
        <h1>Settings</h1>
        <h2>This browser</h2>
        <fieldset className="field">
          <legend>Appearance</legend>
          <div className="segments">
            {THEMES.map((name) => (
              <label key={name}>
                <input
                  type="radio"
                  name="theme"
                  checked={theme === name}
                  onChange={() => {
                    setTheme(name);
                    choose(name);
                  }}
                />
                {name}
              </label>
            ))}
          </div>
        </fieldset>
        <div className="field inline">
          <input
            id="notify"
            type="checkbox"
            checked={notifies}
            disabled={!canNotify()}
            onChange={(event) => void setNotifications(event.target.checked).then(setNotifies)}
          />
          <label htmlFor="notify">Notify me when a session needs me</label>
        </div>
        {config && Object.keys(config.schema.properties).length > 0 && (
          <>
            <h2>On the host</h2>
            <p className="muted">These follow you to every client.</p>
            <ConfigForm
              schema={config.schema}
              values={config.values}
              onChange={(key, value) => host.store.dispatch("ahp-root://", { type: "root/configChanged", config: { [key]: value } })}
            />
          </>
        )}
        <h2>Keyboard</h2>
        <dl className="shortcuts">
          {SHORTCUTS.map(({ keys, meaning }) => (
            <div key={keys}>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
        <h2>Connection</h2>
        <p className="muted">
          {server?.title ?? server?.name ?? "Host"} {server?.version} · web client {__APP_VERSION__}
        </p>
        <a className="button" href="#/connect">
          Connect to another host
        </a>
      </div>
    </div>
  );
}
