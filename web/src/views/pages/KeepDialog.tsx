// Asks before an attempt is kept: what happens to the folder, and what becomes
// of the other attempts.

import { useState } from "react";
import { keepAttempt } from "../../app/attempts";
import type { Fate } from "../../app/attempts";
import { useHost } from "../../app/context";
import { messageOf } from "../../app/sessions";
import type { SessionSummary, URI } from "../../protocol/types";
import { pathOf } from "../../protocol/uri";
import { attemptOf } from "../../state/attempts";
import { Dialog } from "../ui/Dialog";
import { Ticked } from "../ui/Ticked";

interface Props {
  session: SessionSummary;
  changes: URI;
  directory: URI | undefined;
  others: readonly SessionSummary[];
  onClose: () => void;
  onKept: () => void;
  onOpen: () => void;
}

const FATES: [fate: Fate, label: string][] = [
  ["archive", "Archive the other attempts"],
  ["delete", "Delete the other attempts"],
  ["leave", "Leave the other attempts as they are"],
];

export function KeepDialog({ session, changes, directory, others, onClose, onKept, onOpen }: Props) {
  const host = useHost();
  const [fate, setFate] = useState<Fate>("archive");
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const number = attemptOf(session)?.number ?? 0;
  const keep = async () => {
    if (isBusy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      const said = await keepAttempt(host, changes, others, fate);
      host.store.notify({ tone: "info", text: said ?? `Attempt ${number} was kept.`, action: { label: "Open session", run: onOpen } });
      onKept();
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <Dialog label={`Keep attempt ${number}`} onClose={onClose} className="keep-dialog">
      <h2>Keep attempt {number}?</h2>
      <p>
        Its changes are merged into {directory ? <code>{pathOf(directory)}</code> : "the folder"}. Nothing is committed. If the same lines have changed there, nothing is written.
      </p>
      {others.length > 0 && (
        <fieldset className="fates">
          <legend className="sr-only">The other attempts</legend>
          {FATES.map(([one, label]) => (
            <label key={one}>
              <input type="radio" name="fate" checked={fate === one} onChange={() => setFate(one)} /> {label}
            </label>
          ))}
        </fieldset>
      )}
      {problem && (
        <p className="problem" role="alert">
          Nothing was kept: <Ticked text={problem} />
        </p>
      )}
      <div className="button-row">
        <button type="button" className="button primary" data-first-focus disabled={isBusy} aria-busy={isBusy} onClick={() => void keep()}>
          Keep attempt {number}
        </button>
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
