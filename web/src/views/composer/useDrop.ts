// Files that are dropped or pasted anywhere on the page go to the editor. A
// file that nobody catches would take the page's place.

import { useEffect, useState } from "react";
import { filesIn } from "./attach";

/** Whether files hang over the page. */
export function useDrop(onFiles: (files: File[]) => void): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const has = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const over = (event: DragEvent) => {
      if (has(event)) setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      setOver(false);
      const { count, files } = filesIn(event.dataTransfer);
      if (count > 0) void files.then(onFiles);
    };
    const paste = (event: ClipboardEvent) => {
      const { count, files } = filesIn(event.clipboardData);
      if (count === 0 || isElsewhere(event.target)) return;
      event.preventDefault();
      void files.then(onFiles);
    };
    addEventListener("dragover", over);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    addEventListener("paste", paste);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
      removeEventListener("paste", paste);
    };
  }, [onFiles]);
  return isOver;
}

/** Another field or a terminal takes what is pasted itself. */
function isElsewhere(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement) || target.closest("[data-composer]")) return false;
  return target.closest("input, textarea, [contenteditable], .xterm, dialog") !== null;
}

/** What is dropped never replaces the page, whatever is open in it. Text may be dropped into fields. */
export function useNoNavigation(): void {
  useEffect(() => {
    const prevent = (event: DragEvent) => {
      const isField = event.target instanceof HTMLElement && event.target.closest("input, textarea, [contenteditable]") !== null;
      if (!isField || event.dataTransfer?.types.includes("Files")) event.preventDefault();
    };
    addEventListener("dragover", prevent);
    addEventListener("drop", prevent);
    return () => {
      removeEventListener("dragover", prevent);
      removeEventListener("drop", prevent);
    };
  }, []);
}
