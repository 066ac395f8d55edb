import { useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import type { ReactNode } from "react";
import { Icon } from "./Icon";
import type { IconName } from "./Icon";

export interface MenuItem {
  label: string;
  icon?: IconName;
  run: () => void;
  isDangerous?: boolean;
  isChecked?: boolean;
  hint?: string;
}

interface Props {
  label: string;
  items: MenuItem[];
  children: ReactNode;
  className?: string;
  isDisabled?: boolean;
}

/** A button with a menu, steered by arrow keys. */
export function Menu({ label, items, children, className = "icon-button", isDisabled }: Props) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();

  useLayoutEffect(() => {
    if (isOpen && list.current && root.current) place(list.current, root.current.getBoundingClientRect());
  }, [isOpen]);

  useEffect(() => {
    if (!isOpen) return;
    const focusables = () => [...(root.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
    (focusables().find((item) => item.ariaChecked === "true") ?? focusables()[0])?.focus();
    const onPointer = (event: PointerEvent) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", onPointer);
    return () => document.removeEventListener("pointerdown", onPointer);
  }, [isOpen]);

  const onKeyDown = (event: React.KeyboardEvent) => {
    if (!isOpen) return;
    const all = [...(root.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const move = { ArrowDown: at + 1, ArrowUp: at - 1 + all.length, Home: 0, End: all.length - 1 }[event.key];
    if (move !== undefined) {
      event.preventDefault();
      all[move % all.length]?.focus();
    } else if (event.key === "Escape" || event.key === "Tab") {
      event.stopPropagation();
      setOpen(false);
      root.current?.querySelector<HTMLElement>("[aria-haspopup]")?.focus();
    }
  };

  return (
    <div className="menu" ref={root} onKeyDown={onKeyDown}>
      <button
        type="button"
        className={className}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        aria-label={label}
        title={label}
        disabled={isDisabled}
        onClick={() => setOpen(!isOpen)}
      >
        {children}
      </button>
      {isOpen && (
        <div ref={list} popover="manual" className="menu-list" role="menu" id={id} aria-label={label}>
          {items.map((item) => (
            <button
              key={item.label}
              type="button"
              role={item.isChecked === undefined ? "menuitem" : "menuitemradio"}
              aria-checked={item.isChecked}
              tabIndex={-1}
              className={item.isDangerous ? "menu-item danger" : "menu-item"}
              onClick={() => {
                setOpen(false);
                item.run();
              }}
            >
              {item.icon && <Icon name={item.icon} />}
              <span>{item.label}</span>
              {item.hint && <small>{item.hint}</small>}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

const GAP = 4;

/** Above everything else, on the side of its button where there is room. */
function place(list: HTMLElement, button: DOMRect): void {
  list.showPopover();
  const { width, height } = list.getBoundingClientRect();
  const fitsBelow = button.bottom + GAP + height <= innerHeight;
  const alignsRight = button.left + width > innerWidth - GAP;
  list.style.top = `${Math.max(GAP, fitsBelow ? button.bottom + GAP : button.top - GAP - height)}px`;
  list.style.left = `${Math.max(GAP, alignsRight ? button.right - width : button.left)}px`;
}
