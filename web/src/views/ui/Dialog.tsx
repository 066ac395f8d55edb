import { useEffect, useRef } from "react";
import type { ReactNode } from "react";

interface Props {
  label: string;
  onClose: () => void;
  className?: string;
  children: ReactNode;
}

/** A modal dialog of the browser: it keeps the focus and gives it back. */
export function Dialog({ label, onClose, className, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    // The browser would take the first control, whatever it is.
    dialog.current?.querySelector<HTMLElement>("[data-first-focus]")?.focus();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={`dialog ${className ?? ""}`}
      aria-label={label}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current.close();
      }}
    >
      {children}
    </dialog>
  );
}
