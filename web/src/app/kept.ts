// What is being written in small forms: kept for this tab, so that neither a
// reload nor a view that is drawn anew loses it.

import { useCallback, useState } from "react";

const PREFIX = "innkeeper.kept.";

/** Like a state, but it outlives the view. `undefined` is nothing. */
export function useKept<T>(name: string): [T | undefined, (value: T | undefined) => void] {
  const key = PREFIX + name;
  // Of another name there may be something else: what was read is noted with its key.
  const [known, setKnown] = useState<{ key: string; value: T | undefined }>(() => ({ key, value: read<T>(key) }));
  const current = known.key === key ? known : { key, value: read<T>(key) };
  if (current !== known) setKnown(current);
  const keep = useCallback(
    (value: T | undefined) => {
      write(key, value);
      setKnown({ key, value });
    },
    [key],
  );
  return [current.value, keep];
}

function read<T>(key: string): T | undefined {
  try {
    const text = sessionStorage.getItem(key);
    return text === null ? undefined : (JSON.parse(text) as T);
  } catch {
    return undefined;
  }
}

function write(key: string, value: unknown): void {
  try {
    if (value === undefined) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Then it lives as long as the view.
  }
}
