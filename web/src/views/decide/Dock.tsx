// What waits for a decision, at the editor, where it is always seen. One at a
// time; the others are a step away.

import { useEffect, useRef } from "react";
import { useApp, useHost } from "../../app/context";
import type { Waiting } from "../../state/waiting";
import { Icon } from "../ui/Icon";
import { Decide } from "./Decide";

const LABELS: Record<Waiting["kind"], string> = {
  approval: "Needs approval",
  result: "Result needs approval",
  auth: "Needs sign-in",
  question: "Question",
};

export function Dock() {
  const { store } = useHost();
  const waiting = useApp((state) => state.waiting);
  const shown = useApp((state) => state.dockedId);
  const body = useRef<HTMLDivElement>(null);
  // What comes next begins at its beginning.
  useEffect(() => {
    if (body.current) body.current.scrollTop = 0;
  }, [shown]);
  const at = waiting.findIndex(({ id }) => id === shown);
  const item = waiting[at];
  if (!item) return null;
  const step = (by: number) => store.dock(waiting[(at + by + waiting.length) % waiting.length]?.id ?? null);
  return (
    <section className="dock" aria-label="Waiting for your decision" data-dock tabIndex={-1}>
      <header>
        <Icon name="question" />
        <span className="dock-kind">{LABELS[item.kind]}</span>
        {item.isElsewhere && <span className="badge">another chat</span>}
        {waiting.length > 1 && (
          <span className="dock-steps">
            <button type="button" className="icon-button small" aria-label="Previous decision" onClick={() => step(-1)}>
              <Icon name="back" />
            </button>
            <span aria-live="polite">
              {at + 1} of {waiting.length}
            </span>
            <button type="button" className="icon-button small" aria-label="Next decision" onClick={() => step(1)}>
              <Icon name="chevron" />
            </button>
          </span>
        )}
      </header>
      <div className="dock-body" ref={body} tabIndex={0} role="group" aria-label={LABELS[item.kind]}>
        <Decide key={item.id} item={item} />
      </div>
    </section>
  );
}
