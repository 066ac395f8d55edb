// The menus that are on the page, with what is in them now: the command palette
// does what they do without opening them.

import { useEffect, useRef } from "react";
import type { RefObject } from "react";
import type { MenuItem } from "./Menu";

interface Offered {
  label: string;
  items: readonly MenuItem[];
}

const menus = new Map<Element, () => Offered>();

/** What the menu of a button offers, if it has one. */
export function menuOf(button: Element): Offered | undefined {
  return menus.get(button)?.();
}

/** The menu of a button is known as long as it is there. */
export function useOffered(button: RefObject<HTMLButtonElement | null>, offered: Offered): void {
  const latest = useRef(offered);
  useEffect(() => {
    latest.current = offered;
  });
  useEffect(() => {
    const element = button.current;
    if (!element) return undefined;
    menus.set(element, () => latest.current);
    return () => void menus.delete(element);
  }, [button]);
}
