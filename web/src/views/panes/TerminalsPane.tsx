// The host's terminals: look, take over, type, open and close.

import { lazy, Suspense, useState } from "react";
import { useApp, useHost } from "../../app/context";
import { messageOf } from "../../app/sessions";
import { newId } from "../../lib/id";
import type { TerminalInfo } from "../../protocol/types";
import { Icon } from "../ui/Icon";
import { Skeleton } from "../ui/Skeleton";
import { PaneHead } from "./PaneHead";
import type { PaneProps } from "./PaneHead";

const TerminalView = lazy(() => import("./TerminalView"));
const NONE: never[] = [];

export default function TerminalsPane({ route }: PaneProps) {
  const host = useHost();
  const { clientId } = host.store;
  const terminals = useApp((state) => state.root?.terminals) ?? NONE;
  const cwd = useApp((state) => state.session?.workingDirectories?.[0]);
  const [chosen, setChosen] = useState<string>();
  /** The one that was just opened here is the one to type into. */
  const [opened, setOpened] = useState<string>();
  const [isOpening, setOpening] = useState(false);
  const current = terminals.find(({ resource }) => resource === chosen) ?? ofSession(terminals, route.session) ?? terminals[0];
  const isOurs = current?.claim.kind === "client" && current.claim.clientId === clientId;

  const ask = async (what: string, method: string, params: object) => {
    try {
      await host.connection.request(method, params);
      return true;
    } catch (error) {
      host.store.notify({ tone: "error", text: `${what}: ${messageOf(error)}` });
      return false;
    }
  };
  const open = async () => {
    const channel = `ahp-terminal:/${newId()}`;
    setOpening(true);
    const params = { channel, claim: { kind: "client", clientId }, cwd, cols: 80, rows: 24 };
    const isDone = await ask("The terminal was not opened", "createTerminal", params);
    setOpening(false);
    if (!isDone) return;
    setChosen(channel);
    setOpened(channel);
  };
  const take = ({ resource }: TerminalInfo) => {
    host.store.dispatch(resource, { type: "terminal/claimed", claim: { kind: "client", clientId } });
    setChosen(resource);
    setOpened(resource);
  };

  return (
    <>
      <PaneHead title="Terminals" route={route}>
        {terminals.length > 0 && (
          <button type="button" className="icon-button" aria-label="New terminal" title="New terminal" disabled={isOpening} onClick={() => void open()}>
            <Icon name="add" />
          </button>
        )}
      </PaneHead>
      {terminals.length === 0 && (
        <div className="pane-empty">
          <p>No terminals are open.</p>
          <button type="button" className="button" disabled={isOpening} onClick={() => void open()}>
            <Icon name="terminal" /> New terminal
          </button>
        </div>
      )}
      {terminals.length > 0 && (
        <ul className="terminal-tabs" aria-label="Terminals">
          {terminals.map((terminal) => (
            <li key={terminal.resource} className={terminal === current ? "current" : undefined}>
              <button type="button" aria-current={terminal === current} title={terminal.title} onClick={() => setChosen(terminal.resource)}>
                <Icon name="terminal" />
                <span className="terminal-title">{terminal.title || "Terminal"}</span>
                {terminal.lifecycle.status === "exited" && <span className="badge">exited</span>}
                <Holder terminal={terminal} />
              </button>
              <button
                type="button"
                className="icon-button small"
                aria-label={`Close ${terminal.title || "terminal"}`}
                onClick={() => void ask("The terminal was not closed", "disposeTerminal", { channel: terminal.resource })}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      {current && !isOurs && current.lifecycle.status === "running" && (
        <div className="pane-bar">
          <span>
            {current.claim.kind === "session" ? "A command of a turn runs here." : "Another client holds this terminal."} What you type goes to it.
          </span>
          <button
            type="button"
            className="button"
            title={current.claim.kind === "session" ? "The command continues; its turn ends" : "Fit it to this window"}
            onClick={() => take(current)}
          >
            Take over
          </button>
        </div>
      )}
      {current && (
        <Suspense fallback={<Skeleton shape="lines" label="Loading the terminal…" />}>
          <TerminalView
            key={current.resource}
            resource={current.resource}
            title={current.title}
            isInteractive
            takesFocus={current.resource === opened}
          />
        </Suspense>
      )}
    </>
  );
}

function ofSession(terminals: TerminalInfo[], session: string): TerminalInfo | undefined {
  return terminals.find(({ claim }) => claim.kind === "session" && claim.session === session);
}

/** Whose it is, if it is not this client's. */
function Holder({ terminal: { claim } }: { terminal: TerminalInfo }) {
  const { store } = useHost();
  const name = useApp((state) => {
    if (claim.kind === "session") return state.sessions.find(({ resource }) => resource === claim.session)?.title ?? "a session";
    if (claim.clientId === store.clientId) return undefined;
    return state.session?.activeClients.find(({ clientId }) => clientId === claim.clientId)?.displayName ?? "another client";
  });
  return name ? <small className="terminal-holder">{name}</small> : null;
}
