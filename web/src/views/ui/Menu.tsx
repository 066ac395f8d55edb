// Menus: below their button, or where a pointer asked for one. Arrow keys move,
// letters narrow down what is shown.

import { useCallback, useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import type { ReactNode } from "react";
import { isTouch } from "../../lib/device";
import { Icon } from "./Icon";
import type { IconName } from "./Icon";
import { useOffered } from "./menus";

export interface MenuItem {
  label: string;
  icon?: IconName;
  run: () => void;
  isDangerous?: boolean;
  isChecked?: boolean;
  /** A word at the end of the line. */
  hint?: string;
  /** A line below the label. */
  about?: string;
  /** What this item and those after it have in common. */
  heading?: string;
}

interface Props {
  label: string;
  items: MenuItem[];
  children: ReactNode;
  className?: string;
  isDisabled?: boolean;
  /** The key that opens it (`shortcuts.ts`). */
  shortcut?: "model" | "mode";
}

/** A button with a menu. */
export function Menu({ label, items, children, className = "icon-button", isDisabled, shortcut }: Props) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  useOffered(button, { label, items });
  const close = useCallback((isByKey: boolean) => {
    setOpen(false);
    if (isByKey) button.current?.focus();
  }, []);
  const anchor = useCallback(() => root.current?.getBoundingClientRect() ?? new DOMRect(), []);
  return (
    <div className="menu" ref={root}>
      <button
        ref={button}
        type="button"
        className={className}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        aria-label={label}
        title={label}
        disabled={isDisabled}
        data-shortcut={shortcut}
        onClick={() => setOpen(!isOpen)}
      >
        {children}
        {className.includes("picker") && (
          <span className="picker-arrow">
            <Icon name="chevronDown" />
          </span>
        )}
      </button>
      {isOpen && <MenuList id={id} label={label} items={items} anchor={anchor} within={root} onClose={close} />}
    </div>
  );
}

interface ContextProps {
  label: string;
  items: MenuItem[];
  at: { x: number; y: number };
  onClose: () => void;
}

/** The menu of a right click. */
export function ContextMenu({ label, items, at, onClose }: ContextProps) {
  const root = useRef<HTMLDivElement>(null);
  const id = useId();
  const { x, y } = at;
  const anchor = useCallback(() => new DOMRect(x, y, 0, 0), [x, y]);
  return (
    <div ref={root}>
      <MenuList id={id} label={label} items={items} anchor={anchor} within={root} onClose={onClose} />
    </div>
  );
}

/** Among more than this, somebody may want to search. */
const MANY = 12;

interface ListProps {
  id: string;
  label: string;
  items: MenuItem[];
  anchor: () => DOMRect;
  /** A press outside of this closes the menu. */
  within: React.RefObject<HTMLElement | null>;
  onClose: (isByKey: boolean) => void;
}

function MenuList({ id, label, items, anchor, within, onClose }: ListProps) {
  const list = useRef<HTMLDivElement>(null);
  const [query, setQuery] = useState("");
  const shown = items.filter((item) => item.label.toLowerCase().includes(query));

  useLayoutEffect(() => {
    if (!list.current) return;
    if (!list.current.matches(":popover-open")) list.current.showPopover();
    place(list.current, anchor());
  }, [anchor, query]);

  useEffect(() => {
    const all = itemsIn(list.current);
    (all.find((item) => item.ariaChecked === "true") ?? all[0])?.focus();
  }, [query]);

  useEffect(() => {
    const onPointer = (event: PointerEvent) => {
      if (!within.current?.contains(event.target as Node)) onClose(false);
    };
    document.addEventListener("pointerdown", onPointer);
    return () => document.removeEventListener("pointerdown", onPointer);
  }, [within, onClose]);

  const onKeyDown = (event: React.KeyboardEvent) => {
    const all = itemsIn(list.current);
    const at = all.indexOf(document.activeElement as HTMLElement);
    const move = { ArrowDown: at + 1, ArrowUp: at - 1 + all.length, Home: 0, End: all.length - 1 }[event.key];
    const narrowed = narrow(query, event);
    event.stopPropagation();
    if (move !== undefined) {
      event.preventDefault();
      all[move % all.length]?.focus();
    } else if (event.key === "Escape" || event.key === "Tab") {
      event.preventDefault();
      onClose(true);
    } else if (narrowed !== undefined && items.some((item) => item.label.toLowerCase().includes(narrowed))) {
      event.preventDefault();
      setQuery(narrowed);
    }
  };

  return (
    <div ref={list} popover="manual" className="menu-list" role="menu" id={id} aria-label={label} tabIndex={-1} onKeyDown={onKeyDown}>
      {query ? <div className="menu-heading">“{query}”</div> : items.length > MANY && !isTouch() && <div className="menu-heading menu-hint">Type to filter</div>}
      {shown.map((item, index) => (
        <MenuRow key={index} item={item} hasHeading={!query && item.heading !== undefined} isFirst={index === 0} onClose={onClose} />
      ))}
    </div>
  );
}

function MenuRow({ item, hasHeading, isFirst, onClose }: { item: MenuItem; hasHeading: boolean; isFirst: boolean; onClose: ListProps["onClose"] }) {
  const { label, icon, run, isDangerous, isChecked, hint, about, heading } = item;
  return (
    <>
      {hasHeading && !isFirst && <div className="menu-line" />}
      {hasHeading && heading && <div className="menu-heading">{heading}</div>}
      <button
        type="button"
        role={isChecked === undefined ? "menuitem" : "menuitemradio"}
        aria-checked={isChecked}
        tabIndex={-1}
        className={isDangerous ? "menu-item danger" : "menu-item"}
        onClick={() => {
          onClose(false);
          run();
        }}
      >
        {icon && <Icon name={icon} />}
        <span>
          {label}
          {about && <small className="menu-about">{about}</small>}
        </span>
        {hint && <small>{hint}</small>}
        {isChecked && (
          <span className="menu-check">
            <Icon name="check" />
          </span>
        )}
      </button>
    </>
  );
}

function itemsIn(list: HTMLElement | null): HTMLElement[] {
  return [...(list?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
}

/** What is looked for after a key; nothing, if the key is not about that. */
function narrow(query: string, { key, ctrlKey, metaKey, altKey }: React.KeyboardEvent): string | undefined {
  if (ctrlKey || metaKey || altKey) return undefined;
  if (key === "Backspace") return query.slice(0, -1);
  return key.length === 1 && (key !== " " || query) ? query + key.toLowerCase() : undefined;
}

const GAP = 4;

/** Above everything else, on the side of its anchor where there is room. */
function place(list: HTMLElement, anchor: DOMRect): void {
  const width = list.offsetWidth;
  const height = list.offsetHeight;
  const fitsBelow = anchor.bottom + GAP + height <= innerHeight;
  const alignsRight = anchor.left + width > innerWidth - GAP;
  list.style.top = `${Math.max(GAP, fitsBelow ? anchor.bottom + GAP : anchor.top - GAP - height)}px`;
  list.style.left = `${Math.max(GAP, alignsRight ? anchor.right - width : anchor.left)}px`;
}
