// Whether the list of sessions is shown, and how wide it and the panes are: kept
// in this browser.

import type { Host } from "./host";
import { isNumber, usePreference } from "./preferences";
import { remembered } from "./settings";

const kept = remembered("sidebar");

/** As it was left. */
export function restoreSidebar({ store }: Host): void {
  if (kept.read() === "closed") store.setSidebarOpen(false);
}

export function setSidebar({ store }: Host, isOpen: boolean): void {
  kept.write(isOpen ? "open" : "closed");
  store.setSidebarOpen(isOpen);
}

export function toggleSidebar(host: Host): void {
  setSidebar(host, !host.store.getState().sidebarOpen);
}

/** What can be made wider or narrower, in pixels. */
export const WIDTHS = {
  sidebar: { least: 220, most: 480, usual: 280 },
  pane: { least: 340, most: 1100, usual: 560 },
} as const;

export function useWidth(of: keyof typeof WIDTHS): [number, (width: number) => void] {
  const { least, most, usual } = WIDTHS[of];
  const [width, setWidth] = usePreference(`width.${of}`, usual, isNumber);
  return [Math.min(most, Math.max(least, width)), setWidth];
}
