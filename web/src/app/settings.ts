// What this browser remembers. Settings that should follow the user to other
// clients live on the host, in the root channel's config.

import type { RootState } from "../protocol/types";
import { ROOT } from "../state/derive";
import type { Host } from "./host";

export interface Remembered {
  read: () => string | undefined;
  write: (value: string) => void;
}

export function remembered(name: string): Remembered {
  const key = `innkeeper.${name}`;
  return {
    read: () => {
      try {
        return localStorage.getItem(key) ?? undefined;
      } catch {
        return undefined;
      }
    },
    write: (value) => {
      try {
        localStorage.setItem(key, value);
      } catch {
        // Then it is forgotten with the page.
      }
    },
  };
}

/** Settings that the host keeps, so that they follow the user. */
export type HostSetting = "appearance" | "diffView";

export function hostSetting(root: RootState | undefined, key: HostSetting): unknown {
  return root?.config?.values[key] ?? root?.config?.schema.properties[key]?.default;
}

export function setHostSetting({ store }: Pick<Host, "store">, key: HostSetting, value: string): void {
  store.dispatch(ROOT, { type: "root/configChanged", config: { [key]: value } });
}

export type Theme = "system" | "light" | "dark";

/** The last known choice, for the moment before the host has answered. */
const theme = remembered("theme");

export function currentTheme(): Theme {
  const kept = theme.read();
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function setTheme(host: Host, next: Theme): void {
  applyTheme(next);
  setHostSetting(host, "appearance", next);
}

export function applyTheme(next: Theme): void {
  theme.write(next);
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
}

/** Looks as the host says, whichever client said so. */
export function followAppearance({ store }: Host): void {
  let shown: unknown = currentTheme();
  store.subscribe(() => {
    const wanted = hostSetting(store.getState().root, "appearance");
    if (wanted === shown || (wanted !== "system" && wanted !== "light" && wanted !== "dark")) return;
    shown = wanted;
    applyTheme(wanted);
  });
}
