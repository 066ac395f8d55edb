// What can be done about changes: buttons, how it went, and the dialog that
// asks first.

import { useId, useState } from "react";
import { plain } from "../../lib/text";
import type { ChangesetOperation, ChangesetState } from "../../protocol/types";
import { operationsOn, takesMessage } from "../../state/changesets";
import { keyLabel } from "../shortcuts";
import { Dialog } from "../ui/Dialog";
import { Ticked } from "../ui/Ticked";

interface OperationsProps {
  changes: ChangesetState;
  scope: "changeset" | "resource";
  /** Nothing is left to be committed. */
  isCommitted?: boolean;
  onInvoke: (operation: ChangesetOperation) => void;
}

/** What somebody most likely came for, the first that there is. */
const PRIMARY = ["commit", "create-pr", "push", "keep"];

export function Operations({ changes, scope, isCommitted = false, onInvoke }: OperationsProps) {
  const shown = operationsOn(changes, scope, isCommitted);
  if (shown.length === 0) return null;
  const primary = PRIMARY.find((id) => shown.some((operation) => operation.id === id));
  return (
    <div className="button-row">
      {shown.map((operation) => (
        <button
          key={operation.id}
          type="button"
          className={scope === "changeset" && operation.id === primary ? "button primary" : "button"}
          aria-busy={operation.status === "running"}
          disabled={operation.status === "running" || operation.status === "disabled"}
          title={operation.error?.message ?? operation.description}
          onClick={() => onInvoke(operation)}
        >
          {operation.label}
          {operation.status === "running" && "…"}
        </button>
      ))}
    </div>
  );
}

/** How an operation went, as far as this page saw it. */
export interface Outcome {
  id: string;
  label: string;
  problem?: string;
  /** What it said, and the page that it leads to. */
  done?: string;
  page?: string;
}

/** What went wrong, until it is tried again; and where to go from here. */
export function Outcomes({ changes, last }: { changes: ChangesetState; last: Outcome | undefined }) {
  const failed = (changes.operations ?? []).flatMap(({ id, label, error }) => (error ? [{ id, label, problem: error.message }] : []));
  const own = last?.problem !== undefined && !failed.some(({ id }) => id === last.id) ? [{ ...last, problem: last.problem }] : [];
  return (
    <>
      {[...failed, ...own].map(({ id, label, problem }) => (
        <p key={id} className="problem" role="alert">
          <strong>{label}:</strong> <Ticked text={problem} />
        </p>
      ))}
      {last?.page && (
        <p className="callout" role="status">
          <Ticked text={last.done ?? last.label} />{" "}
          <a href={last.page} target="_blank" rel="noreferrer noopener">
            {last.page.replace(/^https?:\/\//, "")}
          </a>
        </p>
      )}
    </>
  );
}

interface AskProps {
  operation: ChangesetOperation;
  /** What was written before, if it was not used. */
  written: string | undefined;
  onWrite: (message: string) => void;
  onClose: () => void;
  onInvoke: (message?: string) => void;
}

/** Asks before an operation, and for its message where it takes one. */
export function AskFirst({ operation, written, onWrite, onClose, onInvoke }: AskProps) {
  const [message, setMessage] = useState(written ?? operation.description ?? "");
  const hint = useId();
  const hasMessage = takesMessage(operation);
  const isPullRequest = operation.id === "create-pr";
  const canInvoke = !hasMessage || message.trim() !== "";
  const change = (next: string) => {
    setMessage(next);
    onWrite(next);
  };
  const invoke = () => {
    if (canInvoke) onInvoke(hasMessage ? message : undefined);
  };
  return (
    <Dialog label={operation.label} onClose={onClose} className="ask-first">
      <h2>{operation.label}</h2>
      {operation.confirmation && <p>{plain(operation.confirmation)}</p>}
      {hasMessage && (
        <label className="operation-message">
          {isPullRequest ? "Title and description" : "Message"}
          <textarea
            rows={6}
            value={message}
            data-first-focus
            aria-describedby={hint}
            onChange={({ target }) => change(target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) invoke();
            }}
          />
          <small className="muted" id={hint}>
            The first line is the {isPullRequest ? "title" : "subject"}. <kbd>{keyLabel("Ctrl Enter")}</kbd> confirms.
          </small>
        </label>
      )}
      <div className="button-row">
        <button type="button" className="button primary" disabled={!canInvoke} onClick={invoke}>
          {operation.label}
        </button>
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
