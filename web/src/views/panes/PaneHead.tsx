import type { ReactNode } from "react";
import { go } from "../../app/address";
import type { Route } from "../../app/address";
import { Icon } from "../ui/Icon";

export type PaneProps = { route: Extract<Route, { view: "session" }> };

export function PaneHead({ title, route, children }: PaneProps & { title: string; children?: ReactNode }) {
  return (
    <header className="pane-head">
      <h2>{title}</h2>
      {children}
      <button type="button" className="icon-button" aria-label={`Close ${title}`} onClick={() => go({ ...route, pane: undefined })}>
        <Icon name="close" />
      </button>
    </header>
  );
}
