// What agents do by themselves: a list, a form, and what became of it.

import { useState } from "react";
import { hrefOf } from "../../app/address";
import { cancelRun, create, fetchOlder, removeAutomation, runNow, update } from "../../app/automations";
import { useChannel, useHost } from "../../app/context";
import { ago } from "../../lib/time";
import type { AutomationEntry, AutomationRunSummary } from "../../protocol/types";
import { AUTOMATIONS, definitionOf, emptyForm, formOf, isUnderWay, pluginInWords, problemsOf, waitsFor, whenOf } from "../../state/automations";
import { Icon } from "../ui/Icon";
import { AutomationForm } from "./AutomationForm";

const here = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** What is open: nothing, a new one, or one that is edited, by its address. */
type Open = { form: "new" } | { form: "edit"; resource: string } | undefined;

export function Automations() {
  const host = useHost();
  const state = useChannel(AUTOMATIONS, "automations");
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const entries = state?.entries ?? [];
  const edited = open?.form === "edit" ? entries.find(({ resource }) => resource === open.resource) : undefined;
  return (
    <div className="page">
      <div className="page-body">
        <h1>Automations</h1>
        <p className="muted page-hint">Let agents run on a schedule, after an event, or on demand. Each run has its own session.</p>
        {open?.form === "new" ? (
          <AutomationForm
            initial={emptyForm(here())}
            onCancel={close}
            onSave={(form) => {
              create(host, definitionOf(form));
              close();
            }}
          />
        ) : (
          <div className="button-row">
            <button type="button" className="button primary" onClick={() => setOpen({ form: "new" })}>
              <Icon name="add" /> New automation
            </button>
          </div>
        )}
        {state && entries.length === 0 && !open && (
          <div className="page-empty">
            <Icon name="clock" />
            <p>There are no automations yet.</p>
          </div>
        )}
        <ul className="automations">
          {entries.map((entry) => (
            <li key={entry.resource} aria-label={entry.definition.title}>
              {edited === entry ? (
                <AutomationForm
                  initial={formOf(entry, here())}
                  onCancel={close}
                  onSave={(form) => {
                    const { title, message, session, triggers } = definitionOf(form, entry.definition);
                    update(host, entry.resource, { title, message, session, triggers });
                    close();
                  }}
                />
              ) : (
                <Automation entry={entry} onEdit={() => setOpen({ form: "edit", resource: entry.resource })} />
              )}
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

function Automation({ entry, onEdit }: { entry: AutomationEntry; onEdit: () => void }) {
  const host = useHost();
  const [isSure, setSure] = useState(false);
  const { resource, definition, nextRunAt, runCount, operations, customizations } = entry;
  const most = definition.disableConditions?.find((condition) => condition.kind === "afterRuns")?.max;
  return (
    <>
      <header className="automation-head">
        <h2>{definition.title}</h2>
        <label className="field inline">
          <input type="checkbox" checked={definition.enabled} onChange={({ target }) => update(host, resource, { enabled: target.checked })} />
          Enabled
        </label>
      </header>
      <p>{whenOf(definition)}</p>
      {nextRunAt && definition.enabled && (
        <p className="muted">
          Next run: <time dateTime={nextRunAt}>{new Date(nextRunAt).toLocaleString()}</time>
        </p>
      )}
      {customizations && customizations.length > 0 && <p className="muted">With {customizations.map(pluginInWords).join(", ")}</p>}
      {runCount !== undefined && most !== undefined && (
        <p className="muted">
          {runCount} of {most} runs used
        </p>
      )}
      {problemsOf(entry).map((problem) => (
        <p key={problem} className="problem">
          {problem}
        </p>
      ))}
      <div className="button-row">
        <button type="button" className="button" disabled={!operations.includes("run")} onClick={() => void runNow(host, resource)}>
          <Icon name="play" /> Run now
        </button>
        <button type="button" className="button quiet" onClick={onEdit}>
          <Icon name="edit" /> Edit
        </button>
        <button type="button" className="button quiet" onBlur={() => setSure(false)} onClick={() => (isSure ? removeAutomation(host, resource) : setSure(true))}>
          <Icon name="trash" /> {isSure ? "Delete it for good" : "Delete"}
        </button>
      </div>
      <Runs entry={entry} />
    </>
  );
}

function Runs({ entry }: { entry: AutomationEntry }) {
  const host = useHost();
  const { resource, runs, runsNextCursor: cursor } = entry;
  if (runs.length === 0) return null;
  return (
    <details open={runs.some(isUnderWay)}>
      <summary>Runs</summary>
      <ol className="automation-runs">
        {runs.map((run) => (
          <Run key={run.resource} run={run} />
        ))}
      </ol>
      {cursor && (
        <button type="button" className="link-button" onClick={() => void fetchOlder(host, resource, cursor)}>
          Show older runs
        </button>
      )}
    </details>
  );
}

const STATUS = { pending: "Waiting", running: "Running", completed: "Completed", failed: "Failed", cancelled: "Cancelled" };

function Run({ run }: { run: AutomationRunSummary }) {
  const host = useHost();
  const { resource, origin, lifecycle, primarySession } = run;
  // The host cancels on the run's own channel.
  useChannel(isUnderWay(run) ? resource : null, "automationRun");
  const how = origin.kind === "manual" ? "by hand" : origin.catchUp ? "made up for a missed time" : origin.scheduledFor ? "by schedule" : "by an event";
  const why = lifecycle.status === "failed" ? lifecycle.error.message : waitsFor(run);
  return (
    <li data-status={lifecycle.status}>
      <strong>{STATUS[lifecycle.status]}</strong> <span className="muted">{how}, </span>
      <time className="muted" dateTime={lifecycle.createdAt} title={new Date(lifecycle.createdAt).toLocaleString()}>
        {ago(lifecycle.createdAt)}
      </time>{" "}
      {primarySession && <a href={hrefOf({ view: "session", session: primarySession, chat: null })}>Open session</a>}
      {isUnderWay(run) && (
        <button type="button" className="link-button" onClick={() => cancelRun(host, resource)}>
          Cancel
        </button>
      )}
      {why && <p className={lifecycle.status === "failed" ? "problem" : "muted"}>{why}</p>}
    </li>
  );
}
