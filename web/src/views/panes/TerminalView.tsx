// A terminal of the host in the page. Loaded only when one is looked at.

import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { useEffect, useRef } from "react";
import { useChannel, useHost } from "../../app/context";
import { obedientDocument, obediently, obedientSpans } from "../../lib/styleless";
import type { TerminalContentPart, TerminalState } from "../../protocol/types";

obedientSpans();

interface Props {
  resource: string;
  title: string;
  /** Inline terminals are for watching; in the pane one can type. */
  isInteractive?: boolean;
}

export default function TerminalView({ resource, title, isInteractive = false }: Props) {
  const host = useHost();
  const state = useChannel(resource, "terminal");
  const element = useRef<HTMLDivElement>(null);
  const terminal = useRef<Terminal>(null);
  const written = useRef(0);
  const isOurs = state?.claim.kind === "client" && state.claim.clientId === host.store.clientId;
  const mayType = isInteractive && isOurs && state?.lifecycle.status === "running";

  useEffect(() => {
    const parent = element.current;
    if (!parent) return;
    const style = getComputedStyle(document.documentElement);
    const xterm = new Terminal({
      fontFamily: style.getPropertyValue("--font-mono"),
      fontSize: 12.5,
      rows: isInteractive ? 24 : 10,
      convertEol: true,
      documentOverride: obedientDocument(),
      disableStdin: !isInteractive,
      screenReaderMode: isInteractive,
      theme: {
        background: style.getPropertyValue("--code-bg").trim(),
        foreground: style.getPropertyValue("--text").trim(),
        cursor: style.getPropertyValue("--accent").trim(),
        selectionBackground: style.getPropertyValue("--selection").trim(),
      },
    });
    const fit = new FitAddon();
    xterm.loadAddon(fit);
    obediently(() => xterm.open(parent));
    terminal.current = xterm;
    written.current = 0;
    const observer = new ResizeObserver(() => {
      if (isInteractive) fit.fit();
    });
    observer.observe(parent);
    return () => {
      observer.disconnect();
      xterm.dispose();
      terminal.current = null;
    };
  }, [isInteractive, resource]);

  useEffect(() => {
    const xterm = terminal.current;
    if (!xterm || !state) return;
    const text = textOf(state.content);
    if (text.length < written.current) {
      xterm.reset();
      written.current = 0;
    }
    xterm.write(text.slice(written.current));
    written.current = text.length;
  }, [state]);

  useEffect(() => {
    const xterm = terminal.current;
    if (!xterm || !mayType) return;
    const typed = xterm.onData((data) => host.store.dispatch(resource, { type: "terminal/input", data }));
    const resized = xterm.onResize(({ cols, rows }) =>
      host.store.dispatch(resource, { type: "terminal/resized", cols, rows }),
    );
    host.store.dispatch(resource, { type: "terminal/resized", cols: xterm.cols, rows: xterm.rows });
    return () => {
      typed.dispose();
      resized.dispose();
    };
  }, [host, resource, mayType]);

  return (
    <div className="terminal-view" aria-label={title} role="group">
      <div ref={element} className="terminal-host" />
      {state && <Lifecycle state={state} />}
    </div>
  );
}

function Lifecycle({ state }: { state: TerminalState }) {
  if (state.lifecycle.status === "running") return null;
  const { exitCode } = state.lifecycle;
  return <span className={exitCode === 0 ? "badge ok" : "badge bad"}>exited{exitCode === undefined ? "" : ` ${exitCode}`}</span>;
}

function textOf(content: TerminalContentPart[]): string {
  return content.map((part) => (part.type === "command" ? part.output : part.value)).join("");
}
