// The keys that work everywhere, and what they do.

import { useEffect } from "react";
import { go } from "../app/address";
import { focusEditor } from "./decide/focus";

export const SHORTCUTS = [
  { keys: "Ctrl K", meaning: "Commands and sessions" },
  { keys: "Alt Y / Alt N", meaning: "Approve or deny what waits first" },
  { keys: "Enter", meaning: "Send; steer while the agent works" },
  { keys: "Alt Enter", meaning: "Queue behind the running turn" },
  { keys: "Shift Enter", meaning: "New line" },
  { keys: "Esc", meaning: "Stop the running turn (in the editor)" },
  { keys: "↑", meaning: "Earlier messages (in an empty editor)" },
  { keys: "/", meaning: "To the editor" },
  { keys: "N", meaning: "New session" },
  { keys: "I", meaning: "Inbox" },
  { keys: "J / K", meaning: "Next or previous session" },
  { keys: "F6", meaning: "Between the editor and the terminal" },
] as const;

export function useShortcuts(openPalette: () => void): void {
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
      if (event.altKey && (event.code === "KeyY" || event.code === "KeyN")) {
        const decision = event.code === "KeyY" ? "approve" : "deny";
        const button = document.querySelector<HTMLElement>(`main [data-decision=${decision}]`);
        if (!button) return;
        event.preventDefault();
        button.click();
        return;
      }
      if (event.altKey || event.ctrlKey || event.metaKey || isEditing(event.target)) return;
      const run = SINGLE[event.key.toLowerCase()];
      if (!run) return;
      event.preventDefault();
      run();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [openPalette]);
}

const SINGLE: Record<string, () => void> = {
  "/": () => document.querySelector<HTMLElement>("[data-composer]")?.focus(),
  n: () => go({ view: "new" }),
  i: () => go({ view: "inbox" }),
  j: () => step(1),
  k: () => step(-1),
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

function step(by: number): void {
  const rows = [...document.querySelectorAll<HTMLAnchorElement>(".session-row > a")];
  const at = rows.findIndex((row) => row.ariaCurrent === "page");
  rows[at < 0 ? 0 : at + by]?.click();
}
