import { useRef } from "react";
import type { KeyboardEvent } from "react";
import { useHost } from "../../app/context";

/** Earlier messages of the chat, by arrow keys from an empty editor. */
export function useHistory(text: string, setText: (text: string) => void) {
  const { store } = useHost();
  const at = useRef<number>(undefined);

  const onKey = (event: KeyboardEvent): boolean => {
    const isBrowsing = at.current !== undefined;
    const isUp = event.key === "ArrowUp" && (text === "" || isBrowsing);
    const isDown = event.key === "ArrowDown" && isBrowsing;
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || (!isUp && !isDown)) {
      if (event.key.length === 1 || event.key === "Backspace") at.current = undefined;
      return false;
    }
    const said = store
      .getState()
      .messages.filter(({ kind }) => kind === "user" || kind === "bash")
      .map((message) => message.text);
    if (said.length === 0) return false;
    const next = (at.current ?? said.length) + (isUp ? -1 : 1);
    event.preventDefault();
    at.current = next >= said.length ? undefined : Math.max(0, next);
    setText(at.current === undefined ? "" : (said[at.current] ?? ""));
    return true;
  };

  return { onKey, reset: () => (at.current = undefined) };
}
