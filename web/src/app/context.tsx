// How components reach the host and read the store.

import { createContext, useContext, useEffect, useSyncExternalStore } from "react";
import type { URI } from "../protocol/types";
import type { AppState } from "../state/appState";
import { stateOf } from "../state/derive";
import type { ChannelState } from "../state/reducers";
import { parseRoute } from "./address";
import type { Route } from "./address";
import type { Host } from "./host";

export const HostContext = createContext<Host | null>(null);

export function useHost(): Host {
  const host = useContext(HostContext);
  if (!host) throw new Error("no host is provided around this component");
  return host;
}

/** Reads a part of the state; `pick` must return something that lasts. */
export function useApp<T>(pick: (state: AppState) => T): T {
  const { store } = useHost();
  return useSyncExternalStore(store.subscribe, () => pick(store.getState()));
}

/** Keeps a channel open while the component is there, and reads its state. */
export function useChannel<K extends ChannelState["kind"]>(uri: URI | null | undefined, kind: K) {
  const host = useHost();
  useEffect(() => (uri ? host.use(uri) : undefined), [host, uri]);
  return useApp((state) => stateOf(state.channels, uri, kind));
}

let lastHash: string | undefined;
let lastRoute: Route = { view: "home" };

function currentRoute(): Route {
  if (location.hash !== lastHash) {
    lastHash = location.hash;
    lastRoute = parseRoute(location.hash);
  }
  return lastRoute;
}

export function useRoute(): Route {
  return useSyncExternalStore(onHashChange, currentRoute, () => lastRoute);
}

function onHashChange(listener: () => void): () => void {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
}
