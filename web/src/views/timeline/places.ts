// Going to places in the conversation: to what was found, and from one own
// message to the next.

import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { RefObject } from "react";
import type { VirtualizerHandle } from "virtua";
import { useHost } from "../../app/context";
import type { UiMessage } from "../../state/appState";
import type { Hit } from "../../state/find";
import type { Row } from "../../state/turns";
import { FIND } from "./finding";
import type { ChatMemory } from "./memory";

/** The height of what stands before the entries; it never changes. */
export const START_MARGIN = 40;
/** What is gone to stands a little below the top. */
const SPACE = 12;

/** Whether words are looked for. The keys of the browser for that open our own line; pressed again, the browser's. */
export function useFinding(): [boolean, (isFinding: boolean) => void] {
  const [isFinding, setFinding] = useState(false);
  useEffect(() => {
    const open = () => setFinding(true);
    const onKey = (event: KeyboardEvent) => {
      const isFind = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.code === "KeyF";
      const target = event.target instanceof Element ? event.target : null;
      if (!isFind || target?.closest(".find-bar, .xterm, dialog")) return;
      event.preventDefault();
      setFinding(true);
      document.querySelector<HTMLInputElement>(".find-bar input")?.select();
    };
    addEventListener("keydown", onKey);
    addEventListener(FIND, open);
    return () => {
      removeEventListener("keydown", onKey);
      removeEventListener(FIND, open);
    };
  }, []);
  return [isFinding, setFinding];
}

interface Reveal {
  rows: readonly Row[];
  list: RefObject<VirtualizerHandle | null>;
  memory: ChatMemory;
  leave: () => void;
  unfoldTurn: (turnId: string) => void;
  openGroup: (id: string, isOpen: boolean) => void;
}

/** Brings what was found into sight, whatever it is folded into. */
export function useReveal({ rows, list, memory, leave, unfoldTurn, openGroup }: Reveal): (hit: Hit) => void {
  const wanted = useRef<Hit>(undefined);
  const look = useCallback(() => {
    const hit = wanted.current;
    if (!hit) return;
    const index = rows.findIndex(({ key, group }) => key === hit.id && !group);
    const row = rows[index];
    if (row && !(row.folded && hit.id !== row.message.id)) {
      wanted.current = undefined;
      list.current?.scrollToIndex(index, { align: "center" });
      return;
    }
    // A closed group has the entry, or a folded turn does; both are open in the next round.
    const closed = rows.findLast(({ group, message }) => group && !group.isOpen && message.turnId === hit.turnId && isAfter(hit.id, message.id));
    if (closed?.group) openGroup(closed.group.id, true);
    else if (hit.turnId !== undefined) unfoldTurn(hit.turnId);
  }, [rows, list, openGroup, unfoldTurn]);
  useLayoutEffect(look, [look]);
  return useCallback(
    (hit: Hit) => {
      leave();
      if (hit.isInside) memory.choose(hit.id, true);
      wanted.current = hit;
      look();
    },
    [leave, memory, look],
  );
}

interface Arrival {
  at: string | undefined;
  messages: readonly UiMessage[];
  hasMore: boolean;
  older: () => void;
  reveal: (hit: Hit) => void;
  unfoldTurn: (turnId: string) => void;
}

/** Begins reading at a turn, also at one that is not loaded yet. */
export function useArrival({ at, messages, hasMore, older, reveal, unfoldTurn }: Arrival): void {
  const { store } = useHost();
  const wanted = useRef<string>(undefined);
  const asked = useRef<string>(undefined);
  useEffect(() => {
    if (asked.current !== at) wanted.current = at;
    asked.current = at;
    const turn = wanted.current;
    if (turn === undefined) return;
    const found = messages.find(({ turnId }) => turnId === turn);
    if (found) {
      wanted.current = undefined;
      unfoldTurn(turn);
      reveal({ id: found.id, turnId: turn, isInside: false });
    } else if (hasMore) older();
    else {
      wanted.current = undefined;
      store.notify({ tone: "info", text: "That turn is no longer in this conversation." });
    }
  }, [store, at, messages, hasMore, older, reveal, unfoldTurn]);
}

/** Entries of a turn are numbered: `turn/3` stands after `turn/1`. */
function isAfter(id: string, first: string): boolean {
  const number = (entry: string) => Number(entry.slice(entry.lastIndexOf("/") + 1));
  return number(id) >= number(first);
}

interface Jumps {
  rows: readonly Row[];
  list: RefObject<VirtualizerHandle | null>;
  scroller: RefObject<HTMLElement | null>;
  leave: () => void;
  toEnd: () => void;
}

/** Alt with an arrow: to the own message before or after. */
export function useJumps({ rows, list, scroller, leave, toEnd }: Jumps): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
      const target = event.target instanceof Element ? event.target : null;
      if (!event.altKey || event.ctrlKey || event.metaKey || by === 0 || target?.closest(".xterm, dialog, [role=menu]")) return;
      if (!scroller.current || !list.current) return;
      event.preventDefault();
      const top = scroller.current.scrollTop - START_MARGIN + SPACE;
      const own = rows.flatMap(({ message: { kind, turn } }, index) => ((kind === "user" || kind === "bash") && turn ? [index] : []));
      const offset = (index: number) => list.current?.getItemOffset(index) ?? 0;
      const next = by < 0 ? own.findLast((index) => offset(index) < top - 2) : own.find((index) => offset(index) > top + 2);
      if (next === undefined) {
        if (by > 0) toEnd();
        return;
      }
      leave();
      list.current.scrollToIndex(next, { align: "start", offset: -SPACE });
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [rows, list, scroller, leave, toEnd]);
}
