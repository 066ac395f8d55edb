// The host's terminals: look, take over, type, open and close.

import { lazy, Suspense, useState } from "react";
import { useApp, useHost } from "../../app/context";
import { messageOf } from "../../app/sessions";
import { Icon } from "../ui/Icon";
import { PaneHead } from "./PaneHead";
import type { PaneProps } from "./PaneHead";
import { newId } from "../../lib/id";

const TerminalView = lazy(() => import("./TerminalView"));
const NONE: never[] = [];

export default function TerminalsPane({ route }: PaneProps) {
  const host = useHost();
  const { clientId } = host.store;
  const terminals = useApp((state) => state.root?.terminals) ?? NONE;
  const cwd = useApp((state) => state.session?.workingDirectories?.[0]);
  const [chosen, setChosen] = useState<string>();
  const current = terminals.find(({ resource }) => resource === chosen) ?? terminals[0];
  const isOurs = current?.claim.kind === "client" && current.claim.clientId === clientId;

  const ask = (what: string, request: Promise<unknown>) =>
    request.catch((error: unknown) => host.store.notify({ tone: "error", text: `${what}: ${messageOf(error)}` }));
  const open = () => {
    const channel = `ahp-terminal:/${newId()}`;
    const params = { channel, claim: { kind: "client", clientId }, cwd, cols: 80, rows: 24 };
    void ask("The terminal was not opened", host.connection.request("createTerminal", params)).then(() => setChosen(channel));
  };
  const claim = () =>
    current && host.store.dispatch(current.resource, { type: "terminal/claimed", claim: { kind: "client", clientId } });

  return (
    <>
      <PaneHead title="Terminals" route={route}>
        <button type="button" className="icon-button" aria-label="New terminal" title="New terminal" onClick={open}>
          <Icon name="add" />
        </button>
      </PaneHead>
      {terminals.length === 0 && <p className="pane-note">No terminals are open.</p>}
      <ul className="terminal-tabs" aria-label="Terminals">
        {terminals.map(({ resource, title, lifecycle }) => (
          <li key={resource} className={resource === current?.resource ? "current" : undefined}>
            <button type="button" aria-current={resource === current?.resource} onClick={() => setChosen(resource)}>
              <Icon name="terminal" /> {title || "Terminal"}
              {lifecycle.status === "exited" && <span className="badge">exited</span>}
            </button>
            <button
              type="button"
              className="icon-button small"
              aria-label={`Close ${title || "terminal"}`}
              onClick={() => void ask("The terminal was not closed", host.connection.request("disposeTerminal", { channel: resource }))}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
      {current && !isOurs && current.lifecycle.status === "running" && (
        <p className="pane-note">
          {current.claim.kind === "session" ? "The agent is using this terminal." : "Another client is using this terminal."}{" "}
          <button type="button" className="button" onClick={claim}>
            Take over
          </button>
        </p>
      )}
      {current && (
        <Suspense fallback={<p className="muted">Loading the terminal…</p>}>
          <TerminalView key={current.resource} resource={current.resource} title={current.title} isInteractive />
        </Suspense>
      )}
    </>
  );
}
