// What this browser remembers about how somebody likes the page, shared by all
// views and all tabs that are open.

import { useCallback, useSyncExternalStore } from "react";
import { remembered } from "./settings";

const PREFIX = "innkeeper.";
const listeners = new Set<() => void>();
/** Parsed once for each text, so that what is read lasts. */
const parsed = new Map<string, { text: string | undefined; value: unknown }>();

function subscribe(listener: () => void): () => void {
  const onStorage = ({ key }: StorageEvent) => {
    if (key === null || key.startsWith(PREFIX)) listener();
  };
  listeners.add(listener);
  addEventListener("storage", onStorage);
  return () => {
    listeners.delete(listener);
    removeEventListener("storage", onStorage);
  };
}

/** What is remembered under a name, if it is what it should be. */
export function readPreference<T>(name: string, otherwise: T, isValid: (value: unknown) => value is T): T {
  const text = remembered(name).read();
  const known = parsed.get(name);
  if (known && known.text === text) return (known.value as T) ?? otherwise;
  let value: unknown;
  try {
    value = text === undefined ? undefined : JSON.parse(text);
  } catch {
    value = undefined;
  }
  const valid = isValid(value) ? value : undefined;
  parsed.set(name, { text, value: valid });
  return valid ?? otherwise;
}

export function writePreference(name: string, value: unknown): void {
  remembered(name).write(JSON.stringify(value));
  for (const listener of [...listeners]) listener();
}

/** Like a state that outlives the page. `otherwise` must last. */
export function usePreference<T>(name: string, otherwise: T, isValid: (value: unknown) => value is T): [T, (value: T) => void] {
  const value = useSyncExternalStore(subscribe, () => readPreference(name, otherwise, isValid));
  const set = useCallback((next: T) => writePreference(name, next), [name]);
  return [value, set];
}

export const isText = (value: unknown): value is string => typeof value === "string";
export const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);
export const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText);
