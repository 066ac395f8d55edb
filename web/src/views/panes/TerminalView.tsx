// A terminal of the host in the page. Loaded only when one is looked at.

import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import type { ITheme } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { useEffect, useRef, useState } from "react";
import { useChannel, useHost } from "../../app/context";
import { obedientDocument, obediently, obedientSpans } from "../../lib/styleless";
import type { TerminalState } from "../../protocol/types";
import { textOf } from "../../state/scrollback";

obedientSpans();

interface Props {
  resource: string;
  title: string;
  /** Inline terminals are for watching; in the pane one can type. */
  isInteractive?: boolean;
  takesFocus?: boolean;
}

interface Screen {
  xterm: Terminal;
  fit: FitAddon;
  /** What has been written to it. */
  shown: string;
}

export default function TerminalView({ resource, title, isInteractive = false, takesFocus = false }: Props) {
  const host = useHost();
  const state = useChannel(resource, "terminal");
  const element = useRef<HTMLDivElement>(null);
  const [screen, setScreen] = useState<Screen>();
  const isOurs = state?.claim.kind === "client" && state.claim.clientId === host.store.clientId;
  // Anybody may type; how large it is, only its holder decides.
  const mayType = isInteractive && state?.lifecycle.status === "running";
  const maySize = mayType && isOurs;
  const { cols, rows } = state ?? {};

  useEffect(() => {
    const parent = element.current;
    if (!parent) return;
    const opened = openScreen(parent, isInteractive);
    setScreen(opened);
    let isOpen = true;
    // The size of a letter is measured: it has to be the right letter.
    void document.fonts.load(`${FONT_SIZE}px ${typeface()}`).then(
      () => {
        if (isOpen) opened.xterm.options.fontFamily = typeface();
      },
      () => undefined,
    );
    return () => {
      isOpen = false;
      opened.xterm.dispose();
      setScreen(undefined);
    };
  }, [isInteractive, resource]);

  // The page may turn dark while it is open.
  useEffect(() => {
    if (!screen) return;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const recolour = () => (screen.xterm.options.theme = colours());
    dark.addEventListener("change", recolour);
    return () => dark.removeEventListener("change", recolour);
  }, [screen]);

  useEffect(() => {
    if (!screen || !state) return;
    write(screen, state.content.map(textOf).join(""));
  }, [screen, state]);

  // Whoever holds it says how large it is; for all others, it is as it is.
  useEffect(() => {
    if (screen && !maySize && cols && rows) screen.xterm.resize(cols, rows);
  }, [screen, maySize, cols, rows]);

  useEffect(() => {
    if (!screen || !mayType) return;
    const { xterm } = screen;
    xterm.options.disableStdin = false;
    const typed = xterm.onData((data) => host.store.dispatch(resource, { type: "terminal/input", data }));
    if (takesFocus) xterm.focus();
    return () => {
      typed.dispose();
      xterm.options.disableStdin = true;
    };
  }, [host, resource, screen, mayType, takesFocus]);

  useEffect(() => {
    const parent = element.current;
    if (!screen || !parent || !maySize) return;
    const { xterm, fit } = screen;
    const resized = xterm.onResize((size) => host.store.dispatch(resource, { type: "terminal/resized", cols: size.cols, rows: size.rows }));
    const observer = new ResizeObserver(() => fit.fit());
    observer.observe(parent);
    return () => {
      observer.disconnect();
      resized.dispose();
    };
  }, [host, resource, screen, maySize]);

  return (
    <div className={maySize ? "terminal-view" : "terminal-view terminal-fixed"} aria-label={title} role="group">
      <div ref={element} className="terminal-host" />
      {state && <Lifecycle state={state} />}
    </div>
  );
}

/** Those of the page, as it is shown now. */
function colours(): ITheme {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  return {
    background: colour("--code-bg"),
    foreground: colour("--text"),
    cursor: colour("--accent"),
    selectionBackground: colour("--selection"),
    scrollbarSliderBackground: colour("--line"),
    scrollbarSliderHoverBackground: colour("--line-strong"),
    scrollbarSliderActiveBackground: colour("--line-strong"),
  };
}

const FONT_SIZE = 12.5;

function typeface(): string {
  return getComputedStyle(document.documentElement).getPropertyValue("--font-mono").trim();
}

function openScreen(parent: HTMLElement, isInteractive: boolean): Screen {
  const isLoaded = document.fonts.check(`${FONT_SIZE}px ${typeface()}`);
  const xterm = new Terminal({
    fontFamily: isLoaded ? typeface() : "monospace",
    fontSize: FONT_SIZE,
    scrollback: 10_000,
    convertEol: true,
    documentOverride: obedientDocument(),
    disableStdin: true,
    screenReaderMode: isInteractive,
    theme: colours(),
  });
  // Left to the page: it moves the focus out of the terminal.
  xterm.attachCustomKeyEventHandler(({ key }) => key !== "F6");
  const fit = new FitAddon();
  xterm.loadAddon(fit);
  obediently(() => xterm.open(parent));
  return { xterm, fit, shown: "" };
}

/** Adds what is new. If the beginning is not what it was, all is written again. */
function write(screen: Screen, text: string): void {
  if (!text.startsWith(screen.shown)) {
    screen.xterm.reset();
    screen.shown = "";
  }
  screen.xterm.write(text.slice(screen.shown.length));
  screen.shown = text;
}

function Lifecycle({ state }: { state: TerminalState }) {
  if (state.lifecycle.status === "running") return null;
  const { exitCode } = state.lifecycle;
  return <span className={exitCode === 0 ? "badge ok" : "badge bad"}>exited{exitCode === undefined ? "" : ` ${exitCode}`}</span>;
}
