import { lazy, Suspense, useCallback, useEffect, useState } from "react";
import { useApp, useHost, useRoute } from "../app/context";
import { Announcer } from "./Announcer";
import { ConnectionBanner } from "./ConnectionBanner";
import { Notices } from "./Notices";
import { Sidebar } from "./Sidebar";
import { useNoNavigation } from "./composer/useDrop";
import { ConnectPage } from "./pages/ConnectPage";
import { Home } from "./pages/Home";
import { useShortcuts } from "./shortcuts";
import { Icon } from "./ui/Icon";

const Inbox = lazy(() => import("./pages/Inbox").then((module) => ({ default: module.Inbox })));
const NewSession = lazy(() => import("./pages/NewSession").then((module) => ({ default: module.NewSession })));
const Palette = lazy(() => import("./Palette").then((module) => ({ default: module.Palette })));
const SessionView = lazy(() => import("./SessionView").then((module) => ({ default: module.SessionView })));
const Automations = lazy(() => import("./pages/Automations").then((module) => ({ default: module.Automations })));
const Settings = lazy(() => import("./pages/Settings").then((module) => ({ default: module.Settings })));

export function App() {
  const { store } = useHost();
  const route = useRoute();
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const openPalette = useCallback(() => setPaletteOpen(true), []);
  useShortcuts(openPalette);
  useNoNavigation();
  const phase = useApp((state) => state.connection.phase);
  const isSession = route.view === "session";
  useEffect(() => {
    if (!isSession) store.select(null);
  }, [store, isSession]);

  const isRefused = phase === "refused" || route.view === "connect";
  return (
    <div className="app" data-view={isRefused ? "connect" : route.view} data-phase={phase}>
      <ConnectionBanner />
      <Sidebar onPalette={openPalette} />
      <main className="main">
        {!isSession && (
          <a className="icon-button only-narrow page-back" href="#/" aria-label="All sessions">
            <Icon name="back" />
          </a>
        )}
        <Suspense fallback={<div className="page-note">Loading…</div>}>
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
          ) : route.view === "settings" ? (
            <Settings />
          ) : (
            <Home />
          )}
        </Suspense>
      </main>
      <Notices />
      <Announcer />
      <Suspense>{isPaletteOpen && <Palette onClose={() => setPaletteOpen(false)} />}</Suspense>
    </div>
  );
}
