import { useEffect, useRef, useState } from "react";
import type { KeyboardEvent, RefObject } from "react";
import { useApp } from "../../app/context";
import { debounced } from "../../lib/debounce";
import type { MessageAttachment } from "../../protocol/types";
import { accepted } from "../../state/attachments";
import type { Suggestion } from "../../state/attachments";

/** How long somebody has to pause before the host is asked. */
const PAUSE_MS = 80;

export interface Completions {
  items: Suggestion[];
  active: number;
  isOpen: boolean;
  ask: (text: string, offset: number) => void;
  choose: (at: number) => void;
  close: () => void;
  onKey: (event: KeyboardEvent) => boolean;
}

/** Who knows what could be meant. */
export type Ask = (text: string, offset: number) => Promise<Suggestion[]>;

/** Suggestions after `@`, `/` or whatever the host says triggers them. */
export function useCompletions(
  suggest: Ask,
  text: string,
  input: RefObject<HTMLTextAreaElement | null>,
  take: (text: string, attachment: MessageAttachment | undefined) => void,
): Completions {
  const triggers = useApp((state) => state.connection.completionTriggers);
  const [items, setItems] = useState<Suggestion[]>([]);
  const [active, setActive] = useState(0);
  const asked = useRef({ number: 0, start: 0, offset: 0 });
  const isOpen = items.length > 0;
  const [pausing] = useState(() => debounced((question: () => void) => question(), PAUSE_MS));
  useEffect(() => pausing.cancel, [pausing]);
  const close = () => {
    pausing.cancel();
    asked.current.number++;
    setItems([]);
  };

  const ask = (typed: string, offset: number) => {
    const word = /\S*$/.exec(typed.slice(0, offset))?.[0] ?? "";
    if (!triggers.some((trigger) => word.startsWith(trigger))) return close();
    const number = ++asked.current.number;
    asked.current = { number, start: offset - word.length, offset };
    pausing.later(() => {
      void suggest(typed, offset).then((found) => {
        if (asked.current.number !== number) return;
        setItems(found.slice(0, 50));
        setActive(0);
      });
    });
  };

  const choose = (at: number) => {
    const item = items[at];
    if (!item) return;
    take(accepted(item, text, asked.current), item.attachment);
    close();
    input.current?.focus();
  };

  const onKey = (event: KeyboardEvent): boolean => {
    if (!isOpen) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setActive((active + step + items.length) % items.length);
    else if (event.key === "Enter" || event.key === "Tab") choose(active);
    else if (event.key === "Escape") close();
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };

  return { items, active, isOpen, ask, choose, close, onKey };
}
