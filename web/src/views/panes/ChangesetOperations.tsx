// What can be done about changes: buttons, and the dialog that asks first.

import { useState } from "react";
import { plain } from "../../lib/text";
import type { ChangesetOperation, ChangesetState } from "../../protocol/types";
import { operationsOn, takesMessage } from "../../state/changesets";
import { Dialog } from "../ui/Dialog";

interface OperationsProps {
  changes: ChangesetState;
  scope: "changeset" | "resource";
  onInvoke: (operation: ChangesetOperation) => void;
}

export function Operations({ changes, scope, onInvoke }: OperationsProps) {
  const shown = operationsOn(changes, scope);
  if (shown.length === 0) return null;
  return (
    <>
      <div className="button-row">
        {shown.map((operation) => (
          <button
            key={operation.id}
            type="button"
            className={operation.id === "commit" ? "button primary" : "button"}
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
      {scope === "changeset" && shown.flatMap(({ id, label, error }) => (error ? [<p key={id} className="problem">{`${label}: ${error.message}`}</p>] : []))}
    </>
  );
}

interface AskProps {
  operation: ChangesetOperation;
  onClose: () => void;
  onInvoke: (message?: string) => void;
}

/** Asks before an operation, and for its message where it takes one. */
export function AskFirst({ operation, onClose, onInvoke }: AskProps) {
  const [message, setMessage] = useState(operation.description ?? "");
  const hasMessage = takesMessage(operation);
  return (
    <Dialog label={operation.label} onClose={onClose}>
      {operation.confirmation && <p>{plain(operation.confirmation)}</p>}
      {hasMessage && (
        <label className="operation-message">
          Message
          <textarea
            rows={6}
            value={message}
            data-first-focus
            onChange={({ target }) => setMessage(target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && message.trim()) onInvoke(message);
            }}
          />
        </label>
      )}
      <div className="button-row">
        <button type="button" className="button primary" disabled={hasMessage && !message.trim()} onClick={() => onInvoke(hasMessage ? message : undefined)}>
          {operation.label}
        </button>
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
