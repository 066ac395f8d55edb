// A new session with all its options on one page, for those who do not want to
// begin with a message.

import { useState } from "react";
import { missingAccounts } from "../../app/accounts";
import { beginEmpty } from "../../app/begin";
import { useHost } from "../../app/context";
import { messageOf } from "../../app/sessions";
import type { ProtectedResource } from "../../protocol/types";
import { fileUri, pathOf } from "../../protocol/uri";
import { aboutAgent, badgeOf, readinessOf } from "../../state/agents";
import { ConfigForm } from "../ConfigForm";
import { DirectoryPicker } from "../DirectoryPicker";
import { ModelField } from "../ModelField";
import { SignIn } from "../decide/SignIn";
import { AgentMark } from "../ui/AgentMark";
import { Icon } from "../ui/Icon";
import { useBeginning } from "./useBeginning";

export function NewSession() {
  const host = useHost();
  const beginning = useBeginning();
  const { agents, agent, setProvider, directory, setDirectory, model, setModel, config, values, setValue, suggest, remember } = beginning;
  const [isPicking, setPicking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [accounts, setAccounts] = useState<ProtectedResource[]>([]);

  const start = async (event: React.FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      await beginEmpty(host, { provider: agent?.provider, directory, config: values, model });
      remember();
    } catch (error) {
      const missing = missingAccounts(error);
      setAccounts(missing);
      setProblem(missing.length ? undefined : messageOf(error));
    }
    setBusy(false);
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
                <AgentMark provider={known.provider} name={known.displayName} />
                <span>
                  <strong>{known.displayName}</strong>
                  <small>{aboutAgent(known)}</small>
                </span>
                {badgeOf(known) && <span className={readinessOf(known) === "signIn" ? "badge needs" : "badge"}>{badgeOf(known)}</span>}
              </label>
            ))}
          </div>
          {agents.length === 0 && <p className="muted">No agent was found on this host.</p>}
        </fieldset>
        <ModelField agent={agent} model={model?.id ?? ""} onChange={(id) => setModel(id ? { id } : undefined)} />
        <div className="field">
          <label htmlFor="directory">Directory</label>
          <div className="with-button">
            <input
              id="directory"
              value={directory ? pathOf(directory) : ""}
              placeholder="none"
              spellCheck={false}
              onChange={({ target }) => setDirectory(target.value ? fileUri(target.value) : undefined)}
            />
            <button type="button" className="button" onClick={() => setPicking(true)}>
              <Icon name="folder" /> Browse
            </button>
          </div>
        </div>
        {config && <ConfigForm key={agent?.provider} schema={config.schema} values={{ ...config.values, ...values }} onChange={setValue} suggest={suggest} />}
        {problem && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <div className="button-row">
          <button type="submit" className="button primary" disabled={isBusy || !agent} aria-busy={isBusy}>
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
      {isPicking && <DirectoryPicker start={directory ?? fileUri("/")} onClose={() => setPicking(false)} onPick={setDirectory} />}
    </div>
  );
}
