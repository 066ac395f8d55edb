// Commands may ask for the dialog that renames the open session; its header has
// that.

import { useEffect } from "react";

const listeners = new Set<() => void>();

export function askToRename(): void {
  for (const listener of [...listeners]) listener();
}

export function useRenameRequest(onAsk: () => void): void {
  useEffect(() => {
    listeners.add(onAsk);
    return () => void listeners.delete(onAsk);
  }, [onAsk]);
}
