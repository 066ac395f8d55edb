// Everything that can be pressed on the page, by its name: so the command
// palette does whatever a button does, those included that nobody thought of.

import type { IconName } from "./ui/Icon";
import { menuOf } from "./ui/menus";

export interface Pressable {
  label: string;
  /** The menu that it is in. */
  about?: string;
  icon?: IconName;
  press: () => void;
}

const BUTTONS = "button, summary, input[type=file], a.button, a.icon-button, a.badge";

/** A call may be called anything, at any length. */
const LONGEST = 300;

/** Of several with one name, the last one: it is nearest to what goes on now. */
export function pressables(page: ParentNode): Pressable[] {
  const found = new Map<string, Pressable>();
  const add = (pressable: Pressable) => {
    const key = `${pressable.label}\n${pressable.about ?? ""}`;
    found.delete(key);
    found.set(key, pressable);
  };
  for (const element of page.querySelectorAll<HTMLElement>(BUTTONS)) {
    if (!isOffered(element)) continue;
    const menu = menuOf(element);
    for (const { label, icon, run } of menu?.items ?? []) add({ label, icon, about: menu?.label, press: run });
    const label = nameOf(element);
    if (!menu && label) add({ label, press: () => pressed(element) });
  }
  return [...found.values()];
}

/** Whether somebody could press it now. Rows of the list are sessions, which the palette has anyway. */
function isOffered(element: HTMLElement): boolean {
  const isOff = element.matches(":disabled, [aria-disabled=true]");
  return !isOff && !element.closest("dialog, .session-row, [role=menu]") && element.checkVisibility();
}

function pressed(element: HTMLElement): void {
  element.focus();
  element.click();
}

/** What a button is called: without its key, which stands elsewhere. */
function nameOf(element: HTMLElement): string {
  const said = element.ariaLabel ?? textOf(element);
  return said.slice(0, LONGEST).replace(/\s+/g, " ").trim();
}

function textOf(node: Node): string {
  if (node.nodeType === Node.TEXT_NODE) return node.textContent ?? "";
  if (node instanceof HTMLElement && (node.tagName === "KBD" || node.ariaHidden === "true")) return "";
  const pieces = [...node.childNodes].map((child) => (child.nodeType === Node.TEXT_NODE ? textOf(child) : ` ${textOf(child)} `));
  return pieces.join("");
}
