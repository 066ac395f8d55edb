// A new session: which agent, where, with which settings.

import { useCallback, useEffect, useState } from "react";
import { missingAccounts } from "../../app/accounts";
import { go } from "../../app/address";
import { setDraft } from "../../app/chat";
import { useApp, useHost } from "../../app/context";
import { completeConfig, createSession, messageOf, resolveConfig } from "../../app/sessions";
import { remembered } from "../../app/settings";
import { stateOf } from "../../state/derive";
import type { ConfigState, JsonObject, ProtectedResource } from "../../protocol/types";
import { fileUri, pathOf } from "../../protocol/uri";
import { ConfigForm } from "../ConfigForm";
import { DirectoryPicker } from "../DirectoryPicker";
import { ModelField } from "../ModelField";
import { SignIn } from "../decide/SignIn";
import { Icon } from "../ui/Icon";

const lastAgent = remembered("agent");
const lastDirectory = remembered("directory");

export function NewSession() {
  const host = useHost();
  const agents = useApp((state) => state.root?.agents) ?? [];
  const defaultDirectory = useApp((state) => state.connection.defaultDirectory);
  const [provider, setProvider] = useState(lastAgent.read() ?? "");
  const [model, setModel] = useState("");
  const [path, setPath] = useState<string>();
  const [values, setValues] = useState<JsonObject>({});
  const [config, setConfig] = useState<ConfigState>();
  const [isPicking, setPicking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [accounts, setAccounts] = useState<ProtectedResource[]>([]);
  const usual = useApp((state) => state.root?.config?.values["defaultAgent"]);
  const agent = agents.find((known) => known.provider === provider) ?? agents.find((known) => known.provider === usual) ?? agents[0];
  const directoryPath = path ?? lastDirectory.read() ?? (defaultDirectory ? pathOf(defaultDirectory) : "");
  const directory = directoryPath ? fileUri(directoryPath) : undefined;
  const chosen = agent?.provider;

  useEffect(() => {
    let isCurrent = true;
    if (!chosen) return;
    resolveConfig(host, { provider: chosen, directory, config: values }).then(
      (found) => isCurrent && setConfig(found),
      () => isCurrent && setConfig(undefined),
    );
    return () => {
      isCurrent = false;
    };
  }, [host, chosen, directory, values]);

  const suggest = useCallback(
    (key: string, query: string) => completeConfig(host, { provider: chosen, directory, config: values }, key, query),
    [host, chosen, directory, values],
  );

  const start = async (event: React.FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      const session = await createSession(host, { provider: chosen, directory, config: values });
      if (chosen) lastAgent.write(chosen);
      lastDirectory.write(directoryPath);
      host.store.flush();
      const chat = stateOf(host.store.getState().channels, session, "session")?.defaultChat;
      if (chat && model) setDraft(host, chat, { text: "", model: { id: model } });
      go({ view: "session", session, chat: null });
    } catch (error) {
      const missing = missingAccounts(error);
      setAccounts(missing);
      setProblem(missing.length ? undefined : messageOf(error));
      setBusy(false);
    }
  };

  return (
    <div className="page">
      <form className="page-body form" onSubmit={(event) => void start(event)}>
        <h1>New session</h1>
        <fieldset className="field">
          <legend>Agent</legend>
          <div className="choices">
            {agents.map((known) => (
              <label key={known.provider} className="choice">
                <input type="radio" name="agent" checked={known === agent} onChange={() => setProvider(known.provider)} />
                <span>
                  <strong>{known.displayName}</strong>
                  <small>{known.description}</small>
                </span>
              </label>
            ))}
          </div>
          {agents.length === 0 && <p className="muted">No agent was found on this host.</p>}
        </fieldset>
        <ModelField agent={agent} model={model} onChange={setModel} />
        <div className="field">
          <label htmlFor="directory">Directory</label>
          <div className="with-button">
            <input id="directory" value={directoryPath} placeholder="none" spellCheck={false} onChange={(event) => setPath(event.target.value)} />
            <button type="button" className="button" onClick={() => setPicking(true)}>
              <Icon name="folder" /> Browse
            </button>
          </div>
        </div>
        {config && (
          <ConfigForm
            key={chosen}
            schema={config.schema}
            values={config.values}
            onChange={(key, value) => setValues((known) => ({ ...known, [key]: value }))}
            suggest={suggest}
          />
        )}
        {problem && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <div className="button-row">
          <button type="submit" className="button primary" disabled={isBusy || !agent}>
            {isBusy ? "Starting…" : "Start session"}
          </button>
          <a className="button quiet" href="#/">
            Cancel
          </a>
        </div>
      </form>
      {accounts.length > 0 && (
        <section className="page-body sign-in-first" aria-label="Sign in">
          <h2>{agent?.displayName ?? "The agent"} wants you to sign in first</h2>
          {accounts.map((resource) => (
            <SignIn key={resource.resource} resource={resource} onDone={() => setAccounts((known) => known.filter((other) => other !== resource))} />
          ))}
        </section>
      )}
      {isPicking && <DirectoryPicker start={directory ?? fileUri("/")} onClose={() => setPicking(false)} onPick={(uri) => setPath(pathOf(uri))} />}
    </div>
  );
}
