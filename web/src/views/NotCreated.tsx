import { useState } from "react";
import { createAgain } from "../app/begin";
import { useHost } from "../app/context";
import { messageOf, remove } from "../app/sessions";
import type { SessionState, URI } from "../protocol/types";
import { Icon } from "./ui/Icon";
import { Ticked } from "./ui/Ticked";

/** Why a session is not there, and what can be done about that. */
export function NotCreated({ uri, session }: { uri: URI; session: SessionState }) {
  const host = useHost();
  const [isBusy, setBusy] = useState(false);
  const again = async () => {
    setBusy(true);
    try {
      await createAgain(host, uri, session);
    } catch (error) {
      host.store.notify({ tone: "error", text: `The session was not started: ${messageOf(error)}` });
      setBusy(false);
    }
  };
  return (
    <div className="callout bad not-created" role="alert">
      <Icon name="warning" />
      <div>
        <strong>The session could not be created</strong>
        <p>
          <Ticked text={session.creationError?.message ?? ""} />
        </p>
        <div className="button-row">
          <button type="button" className="button" disabled={isBusy} aria-busy={isBusy} onClick={() => void again()}>
            Try again
          </button>
          <button type="button" className="button quiet" onClick={() => remove(host, { resource: uri, title: session.title })}>
            Delete session
          </button>
        </div>
      </div>
    </div>
  );
}
