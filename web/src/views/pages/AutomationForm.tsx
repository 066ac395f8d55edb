// The form of an automation: what, where, and when, with a preview of when.

import { useEffect, useState } from "react";
import { useApp, useHost } from "../../app/context";
import { resolveConfig } from "../../app/sessions";
import type { ConfigState } from "../../protocol/types";
import { fileUri, pathOf } from "../../protocol/uri";
import type { AutomationForm as Form } from "../../state/automations";
import { inWords, nextRuns, parseCron } from "../../state/schedule";
import { ConfigForm } from "../ConfigForm";
import { DirectoryPicker } from "../DirectoryPicker";
import { ModelField } from "../ModelField";
import { Icon } from "../ui/Icon";

/** Schedules that need no explanation. */
const USUAL: readonly (readonly [expression: string, label: string])[] = [
  ["", "No schedule"],
  ["0 * * * *", "Every hour"],
  ["0 9 * * *", "Every day at 09:00"],
  ["0 9 * * MON-FRI", "From Monday to Friday at 09:00"],
  ["0 9 * * MON", "Every Monday at 09:00"],
];

interface Props {
  initial: Form;
  onSave: (form: Form) => void;
  onCancel: () => void;
}

export function AutomationForm({ initial, onSave, onCancel }: Props) {
  const host = useHost();
  const agents = useApp((state) => state.root?.agents) ?? [];
  const usual = useApp((state) => state.root?.config?.values["defaultAgent"]);
  const [form, setForm] = useState(initial);
  const [config, setConfig] = useState<ConfigState>();
  const [isPicking, setPicking] = useState(false);
  const change = (changes: Partial<Form>) => setForm((known) => ({ ...known, ...changes }));
  const agent = agents.find(({ provider }) => provider === (form.provider || usual));
  const { provider, directory, config: values } = form;
  useEffect(() => {
    let isCurrent = true;
    resolveConfig(host, { provider: provider || undefined, directory, config: values }).then(
      (found) => isCurrent && setConfig(found),
      () => isCurrent && setConfig(undefined),
    );
    return () => {
      isCurrent = false;
    };
  }, [host, provider, directory, values]);
  const isWrong = form.expression.trim() !== "" && !parseCron(form.expression);

  return (
    <form
      className="form automation-form"
      aria-label="Automation"
      onSubmit={(event) => {
        event.preventDefault();
        onSave(form);
      }}
    >
      <label className="field">
        Title
        <input value={form.title} required maxLength={200} onChange={({ target }) => change({ title: target.value })} />
      </label>
      <label className="field">
        What to do
        <textarea value={form.text} required rows={4} onChange={({ target }) => change({ text: target.value })} />
      </label>
      <label className="field">
        Agent
        <select value={form.provider} onChange={({ target }) => change({ provider: target.value, model: "", config: {} })}>
          <option value="">The host’s default</option>
          {agents.map(({ provider: id, displayName }) => (
            <option key={id} value={id}>
              {displayName}
            </option>
          ))}
        </select>
      </label>
      <ModelField agent={agent} model={form.model} onChange={(model) => change({ model })} />
      <div className="field">
        <label htmlFor="automation-directory">Directory</label>
        <div className="with-button">
          <input
            id="automation-directory"
            value={directory ? pathOf(directory) : ""}
            placeholder="none"
            spellCheck={false}
            onChange={({ target }) => change({ directory: target.value ? fileUri(target.value) : undefined })}
          />
          <button type="button" className="button" onClick={() => setPicking(true)}>
            <Icon name="folder" /> Browse
          </button>
        </div>
      </div>
      {config && <ConfigForm schema={config.schema} values={config.values} onChange={(key, value) => change({ config: { ...values, [key]: value } })} />}
      <label className="field">
        Plugins
        <textarea
          value={form.plugins}
          rows={2}
          placeholder="directories on the host, one per line"
          spellCheck={false}
          onChange={({ target }) => change({ plugins: target.value })}
        />
      </label>
      <Schedule form={form} isWrong={isWrong} onChange={change} />
      <label className="field">
        When files change
        <input value={form.glob} placeholder="such as src/**/*.rs" spellCheck={false} onChange={({ target }) => change({ glob: target.value })} />
      </label>
      <label className="field inline">
        <input type="checkbox" checked={form.afterSession} onChange={({ target }) => change({ afterSession: target.checked })} />
        After a turn of any other session has completed
      </label>
      <div className="button-row">
        <button type="submit" className="button primary" disabled={isWrong}>
          Save
        </button>
        <button type="button" className="button quiet" onClick={onCancel}>
          Cancel
        </button>
      </div>
      {isPicking && <DirectoryPicker start={directory ?? fileUri("/")} onClose={() => setPicking(false)} onPick={(uri) => change({ directory: uri })} />}
    </form>
  );
}

function Schedule({ form, isWrong, onChange }: { form: Form; isWrong: boolean; onChange: (changes: Partial<Form>) => void }) {
  const { expression, timeZone } = form;
  const [from] = useState(Date.now);
  const runs = nextRuns(expression, timeZone, from, 3);
  const isUsual = USUAL.some(([known]) => known === expression);
  return (
    <fieldset className="field">
      <legend>Schedule</legend>
      <label className="field">
        When
        <select aria-label="When" value={isUsual ? expression : "other"} onChange={({ target }) => onChange({ expression: target.value === "other" ? "30 7 * * *" : target.value })}>
          {USUAL.map(([known, label]) => (
            <option key={known} value={known}>
              {label}
            </option>
          ))}
          <option value="other">Another time</option>
        </select>
      </label>
      {expression !== "" && (
        <>
          <label className="field">
            Minute, hour, day of month, month, day of week
            <input value={expression} spellCheck={false} aria-invalid={isWrong} onChange={({ target }) => onChange({ expression: target.value || " " })} />
          </label>
          <label className="field">
            Time zone
            <input value={timeZone} spellCheck={false} onChange={({ target }) => onChange({ timeZone: target.value })} />
          </label>
          <p className={isWrong ? "problem" : "muted"} role="status">
            {isWrong ? "This is not a schedule: it needs five fields, such as 0 9 * * MON-FRI." : `${inWords(expression) ?? ""}.`}
          </p>
          {runs.length > 0 && (
            <ul className="muted" aria-label="Next runs">
              {runs.map((at) => (
                <li key={at}>{new Date(at).toLocaleString(undefined, { dateStyle: "full", timeStyle: "short" })}</li>
              ))}
            </ul>
          )}
          <label className="field inline">
            <input type="checkbox" checked={form.catchesUp} onChange={({ target }) => onChange({ catchesUp: target.checked })} />
            Make up for a run that was missed while the host was off
          </label>
        </>
      )}
    </fieldset>
  );
}
