// The frame: what is where on the page, and which page that is.

import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import type { CSSProperties } from "react";
import { useApp, useHost, useRoute } from "../app/context";
import { setSidebar, toggleSidebar, useWidth, WIDTHS } from "../app/sidebar";
import { Announcer } from "./Announcer";
import { ConnectionBanner } from "./ConnectionBanner";
import { Notices } from "./Notices";
import { Palette } from "./Palette";
import { Sidebar } from "./Sidebar";
import { useNoNavigation } from "./composer/useDrop";
import { ConnectPage } from "./pages/ConnectPage";
import { Home } from "./pages/Home";
import { keyLabel, useShortcuts } from "./shortcuts";
import { Icon } from "./ui/Icon";
import { Separator } from "./ui/Separator";
import { Skeleton } from "./ui/Skeleton";
import { useIsPhone } from "./useIsPhone";

const loadSession = () => import("./SessionView");

const Attempts = lazy(() => import("./pages/Attempts").then((module) => ({ default: module.Attempts })));
const Automations = lazy(() => import("./pages/Automations").then((module) => ({ default: module.Automations })));
const Inbox = lazy(() => import("./pages/Inbox").then((module) => ({ default: module.Inbox })));
const KeysDialog = lazy(() => import("./KeysDialog").then((module) => ({ default: module.KeysDialog })));
const NewSession = lazy(() => import("./pages/NewSession").then((module) => ({ default: module.NewSession })));
const Search = lazy(() => import("./pages/Search").then((module) => ({ default: module.Search })));
const SessionView = lazy(() => loadSession().then((module) => ({ default: module.SessionView })));
const Settings = lazy(() => import("./pages/Settings").then((module) => ({ default: module.Settings })));

/** What is open over the page. */
type Over = "palette" | "keys" | undefined;

export function App() {
  const host = useHost();
  const route = useRoute();
  const [over, setOver] = useState<Over>();
  const doing = useMemo(() => ({ openPalette: () => setOver("palette"), openKeys: () => setOver("keys"), toggleSidebar: () => toggleSidebar(host) }), [host]);
  const close = useCallback(() => setOver(undefined), []);
  useShortcuts(doing);
  useNoNavigation();
  useSessionAhead();
  const phase = useApp((state) => state.connection.phase);
  const isOpen = useApp((state) => state.sidebarOpen);
  const [width, setWidth] = useWidth("sidebar");
  const isSession = route.view === "session";
  useEffect(() => {
    if (!isSession) host.store.select(null);
  }, [host, isSession]);

  const isNarrow = useIsPhone();
  const isRefused = phase === "refused" || route.view === "connect";
  const style = { "--sidebar": `${width}px` } as CSSProperties;
  return (
    <div className="app" data-view={isRefused ? "connect" : route.view} data-phase={phase} data-sidebar={isOpen ? "open" : "closed"} style={style}>
      <ConnectionBanner />
      {/* On a phone the list is a page of its own, and what else there is to see is hidden then. */}
      <div className="sidebar-place" role={isNarrow && route.view === "home" && !isRefused ? "main" : undefined}>
        <Sidebar onPalette={doing.openPalette} />
      </div>
      <main className="main">
        {isOpen && <Separator label="Width of the sidebar" width={width} {...WIDTHS.sidebar} side="left" onMove={setWidth} />}
        {!isOpen && (
          <button type="button" className="icon-button sidebar-opener" onClick={() => setSidebar(host, true)} aria-label="Show sidebar" title={`Show sidebar (${keyLabel("Ctrl B")})`}>
            <Icon name="menu" />
          </button>
        )}
        {!isSession && (
          <a className="icon-button only-narrow page-back" href="#/" aria-label="All sessions">
            <Icon name="back" />
          </a>
        )}
        <Suspense fallback={<Skeleton shape={isSession ? "conversation" : "page"} />}>
          {isRefused ? (
            <ConnectPage />
          ) : route.view === "session" ? (
            <SessionView key={route.session} route={route} />
          ) : route.view === "new" ? (
            <NewSession />
          ) : route.view === "inbox" ? (
            <Inbox />
          ) : route.view === "automations" ? (
            <Automations />
          ) : route.view === "attempts" ? (
            <Attempts key={route.id} id={route.id} />
          ) : route.view === "search" ? (
            <Search />
          ) : route.view === "settings" ? (
            <Settings />
          ) : (
            <Home />
          )}
        </Suspense>
      </main>
      <Notices />
      <Announcer />
      {over === "palette" && <Palette onClose={close} onKeys={doing.openKeys} />}
      <Suspense>{over === "keys" && <KeysDialog onClose={close} />}</Suspense>
    </div>
  );
}

/** The view of a session is loaded while nobody waits for it. */
function useSessionAhead(): void {
  useEffect(() => {
    const load = () => void loadSession().catch(() => undefined);
    if (typeof requestIdleCallback === "function") requestIdleCallback(load, { timeout: 3_000 });
    else setTimeout(load, 1_000);
  }, []);
}
