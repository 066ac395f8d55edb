// The keys that work everywhere, and what they do.

import { useEffect } from "react";
import { go } from "../app/address";
import { focusEditor } from "./decide/focus";
import { foldAll } from "./timeline/folds";

interface Shortcut {
  keys: string;
  meaning: string;
}

/** All keys, by where they work. */
export const SHORTCUTS: readonly { where: string; keys: readonly Shortcut[] }[] = [
  {
    where: "Anywhere",
    keys: [
      { keys: "Ctrl K", meaning: "Search sessions and commands" },
      { keys: "Ctrl B", meaning: "Show or hide the sidebar" },
      { keys: "?", meaning: "Show these keys" },
      { keys: "N", meaning: "New session" },
      { keys: "I", meaning: "Inbox" },
      { keys: "J / K", meaning: "Next or previous session; in the inbox, next or previous request" },
      { keys: "/", meaning: "To the editor" },
      { keys: "F6", meaning: "Between the editor and the terminal" },
    ],
  },
  {
    where: "Editor",
    keys: [
      { keys: "Enter", meaning: "Send; steer while the agent works" },
      { keys: "Alt Enter", meaning: "Queue behind the running turn" },
      { keys: "Shift Enter", meaning: "New line" },
      { keys: "Shift Tab", meaning: "Next mode, where the agent has several" },
      { keys: "Alt M", meaning: "Choose a model" },
      { keys: "Esc", meaning: "Stop the running turn" },
      { keys: "↑", meaning: "Earlier messages, in an empty editor" },
    ],
  },
  {
    where: "Conversation",
    keys: [
      { keys: "Alt Y / Alt N", meaning: "Approve or deny the request at the editor; in the inbox, the first request" },
      { keys: "Y / N", meaning: "In the inbox: approve or deny it" },
      { keys: "F", meaning: "Fold or unfold all turns" },
      { keys: "Ctrl F", meaning: "Find in this conversation" },
      { keys: "Alt ↑ / Alt ↓", meaning: "To your previous or next message" },
    ],
  },
];

const isMac = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.userAgent);

/** Keys as they are called on this machine. */
export function keyLabel(keys: string): string {
  return isMac ? keys.replaceAll("Ctrl ", "⌘").replaceAll("Alt ", "⌥").replaceAll("Shift ", "⇧") : keys;
}

interface Doing {
  openPalette: () => void;
  openKeys: () => void;
  toggleSidebar: () => void;
}

export function useShortcuts({ openPalette, openKeys, toggleSidebar }: Doing): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "F6") {
        event.preventDefault();
        changePlaces();
        return;
      }
      // Every other key belongs to what runs in the terminal.
      if (isInTerminal(event.target)) return;
      if ((event.ctrlKey || event.metaKey) && event.code === "KeyK") {
        event.preventDefault();
        openPalette();
        return;
      }
      if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.code === "KeyB") {
        event.preventDefault();
        toggleSidebar();
        return;
      }
      if (event.altKey && event.code === "KeyM") {
        const picker = document.querySelector<HTMLElement>("main [data-shortcut=model]");
        if (picker) event.preventDefault();
        picker?.click();
        return;
      }
      if (event.altKey && (event.code === "KeyY" || event.code === "KeyN")) {
        // A key that is held down must not decide what comes next, too.
        if (event.repeat) return event.preventDefault();
        const decision = event.code === "KeyY" ? "approve" : "deny";
        if (decideFirst(decision)) event.preventDefault();
        return;
      }
      if (event.altKey || event.ctrlKey || event.metaKey || isEditing(event.target)) return;
      const run = event.key === "?" ? openKeys : SINGLE[event.key.toLowerCase()];
      if (!run) return;
      event.preventDefault();
      run();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [openPalette, openKeys, toggleSidebar]);
}

const SINGLE: Record<string, () => unknown> = {
  "/": () => document.querySelector<HTMLElement>("[data-composer]")?.focus(),
  // In the inbox, on something that waits, it is a No.
  n: () => decideHere("deny") || go({ view: "start" }),
  i: () => go({ view: "inbox" }),
  f: foldAll,
  j: () => step(1),
  k: () => step(-1),
  y: () => decideHere("approve"),
};

function isEditing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select, dialog, [contenteditable]") !== null;
}

function isInTerminal(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest(".xterm") !== null;
}

function changePlaces(): void {
  if (isInTerminal(document.activeElement)) focusEditor();
  else document.querySelector<HTMLElement>(".pane .xterm-helper-textarea")?.focus();
}

type DecisionKind = "approve" | "deny";

const waitingHere = () => document.activeElement?.closest<HTMLElement>("[data-waiting]");

/** Decides what has the focus. */
function decideHere(decision: DecisionKind): boolean {
  const button = waitingHere()?.querySelector<HTMLElement>(`[data-decision=${decision}]`);
  button?.click();
  return button !== undefined && button !== null;
}

/** Decides what has the focus, or else what stands first. */
function decideFirst(decision: DecisionKind): boolean {
  if (decideHere(decision)) return true;
  const button = document.querySelector<HTMLElement>(`main [data-decision=${decision}]`);
  button?.click();
  return button !== null;
}

function step(by: number): void {
  const waiting = [...document.querySelectorAll<HTMLElement>("[data-waiting]")];
  if (waiting.length > 0) {
    const here = waiting.findIndex((item) => item === waitingHere());
    waiting[Math.min(waiting.length - 1, Math.max(0, here < 0 ? 0 : here + by))]?.focus();
    return;
  }
  const rows = [...document.querySelectorAll<HTMLAnchorElement>(".session-row > a")];
  const at = rows.findIndex((row) => row.ariaCurrent === "page");
  rows[at < 0 ? 0 : at + by]?.click();
}
