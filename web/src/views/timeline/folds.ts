import { useCallback, useEffect, useMemo, useState } from "react";
import { useHost } from "../../app/context";
import { foldable } from "../../state/turns";
import type { Folding } from "../../state/turns";
import type { ChatMemory } from "./memory";

const FOLD_ALL = "innkeeper-fold-all";

/** Folds every finished turn of the conversation on screen, or opens them all. */
export function foldAll(): void {
  dispatchEvent(new Event(FOLD_ALL));
}

/** Which turns are folded and which groups of calls are open: a matter of this view only. */
export function useFolds(memory: ChatMemory) {
  const { store } = useHost();
  const [turns, setTurns] = useState(memory.turns);
  const [groups, setGroups] = useState(memory.groups);
  useEffect(() => {
    Object.assign(memory, { turns, groups });
  }, [memory, turns, groups]);
  const toggleTurn = useCallback((turnId: string) => {
    setTurns((known) => {
      const next = new Set(known);
      if (!next.delete(turnId)) next.add(turnId);
      return next;
    });
  }, []);
  const unfoldTurn = useCallback((turnId: string) => {
    setTurns((known) => (known.has(turnId) ? new Set([...known].filter((id) => id !== turnId)) : known));
  }, []);
  const openGroup = useCallback((id: string, isOpen: boolean) => {
    setGroups((known) => (known.get(id) === isOpen ? known : new Map(known).set(id, isOpen)));
  }, []);
  useEffect(() => {
    const all = () => {
      const can = foldable(store.getState().messages);
      setTurns((known) => (can.every((turn) => known.has(turn)) ? new Set() : new Set(can)));
    };
    addEventListener(FOLD_ALL, all);
    return () => removeEventListener(FOLD_ALL, all);
  }, [store]);
  const folding: Folding = useMemo(() => ({ turns, groups }), [turns, groups]);
  return { folding, toggleTurn, unfoldTurn, openGroup };
}
