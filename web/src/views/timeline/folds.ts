import { useCallback, useEffect, useState } from "react";
import { useHost } from "../../app/context";
import { foldable } from "../../state/turns";

const FOLD_ALL = "innkeeper-fold-all";

/** Folds every finished turn of the conversation on screen, or opens them all. */
export function foldAll(): void {
  dispatchEvent(new Event(FOLD_ALL));
}

/** Which turns are folded: a matter of this view only. */
export function useFolds() {
  const { store } = useHost();
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const toggle = useCallback((turnId: string) => {
    setFolded((known) => {
      const next = new Set(known);
      if (!next.delete(turnId)) next.add(turnId);
      return next;
    });
  }, []);
  useEffect(() => {
    const all = () => {
      const turns = foldable(store.getState().messages);
      setFolded((known) => (turns.every((turn) => known.has(turn)) ? new Set() : new Set(turns)));
    };
    addEventListener(FOLD_ALL, all);
    return () => removeEventListener(FOLD_ALL, all);
  }, [store]);
  return { folded, toggle };
}
