// The way to everything: a new session, what waits, and all sessions.

import { useApp, useHost, useRoute } from "../app/context";
import type { Route } from "../app/address";
import { hrefOf } from "../app/address";
import { setSidebar } from "../app/sidebar";
import { SessionList } from "./SessionList";
import { keyLabel } from "./shortcuts";
import { Icon } from "./ui/Icon";
import type { IconName } from "./ui/Icon";

export function Sidebar({ onPalette }: { onPalette: () => void }) {
  const host = useHost();
  const waiting = useApp((state) => state.inbox.length);
  return (
    <nav className="sidebar" aria-label="Sessions">
      <h1 className="sr-only only-narrow">Sessions</h1>
      <header className="sidebar-head">
        <a className="brand" href="#/">
          <img src="./icon.svg" alt="" width="20" height="20" /> Innkeeper
        </a>
        <a className="icon-button" href="#/settings" aria-label="Settings" title="Settings">
          <Icon name="settings" />
        </a>
        <button type="button" className="icon-button only-wide" onClick={() => setSidebar(host, false)} aria-label="Hide sidebar" title={`Hide sidebar (${keyLabel("Ctrl B")})`}>
          <Icon name="menu" />
        </button>
      </header>
      <ul className="sidebar-nav">
        <li>
          <NavLink to={{ view: "start" }} icon="chat" label="New session" keys="N" />
        </li>
        <li>
          <NavLink to={{ view: "inbox" }} icon="inbox" label="Inbox" name={waiting ? `Inbox, ${waiting} waiting` : undefined} keys="I">
            {waiting > 0 && <span className="count">{waiting}</span>}
          </NavLink>
        </li>
        <li>
          <button type="button" className="nav-item" onClick={onPalette}>
            <Icon name="search" /> <span>Search and commands</span>
            <kbd className="only-wide" aria-hidden="true">
              {keyLabel("Ctrl K")}
            </kbd>
          </button>
        </li>
        <li>
          <NavLink to={{ view: "automations" }} icon="clock" label="Automations" />
        </li>
      </ul>
      <SessionList />
    </nav>
  );
}

interface NavLinkProps {
  to: Exclude<Route, { view: "session" }>;
  icon: IconName;
  label: string;
  /** How it is called where more than its label matters. */
  name?: string;
  keys?: string;
  children?: React.ReactNode;
}

function NavLink({ to, icon, label, name, keys, children }: NavLinkProps) {
  const { view } = useRoute();
  const isHere = view === to.view || (to.view === "start" && view === "home");
  return (
    <a className="nav-item" href={hrefOf(to)} aria-label={name} aria-current={isHere ? "page" : undefined}>
      <Icon name={icon} /> <span>{label}</span> {children || (keys && <kbd className="only-wide" aria-hidden="true">{keys}</kbd>)}
    </a>
  );
}
