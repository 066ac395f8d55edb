// The page's address: the host's token, and which view is open.
//
// The token comes with the address once, is kept for this origin, and is taken
// out of the address so that it is not copied along with a link.

import type { URI } from "../protocol/types";
import { remembered } from "./settings";

const kept = remembered("token");

export function takeToken(): string | undefined {
  const here = new URL(location.href);
  const inHash = /[#&?]tkn=([^&]+)/.exec(here.hash)?.[1];
  const token = here.searchParams.get("tkn") ?? inHash;
  if (!token) return kept.read() || undefined;
  here.searchParams.delete("tkn");
  if (inHash) here.hash = here.hash.replace(/[#&?]tkn=[^&]+/, "");
  history.replaceState(history.state, "", here);
  kept.write(token);
  return token;
}

export function keepToken(token: string): void {
  kept.write(token);
}

/** The socket is where the page came from; in development, behind a proxy. */
export function socketUrl(token: string | undefined): string {
  const url = new URL(import.meta.env.DEV ? "/socket" : "./", location.href);
  url.protocol = url.protocol.replace(/^http/, "ws");
  if (token) url.searchParams.set("tkn", token);
  return url.href;
}

/**
 * What people paste (the page's address or the socket's) as the address of a
 * host's own page: each host serves its own client.
 */
export function pageOf(text: string, token: string): URL | undefined {
  try {
    const url = new URL(/^\w+:\/\//.test(text) ? text : `http://${text}`);
    url.protocol = url.protocol.replace(/^ws/, "http");
    if (url.protocol !== "http:" && url.protocol !== "https:") return undefined;
    if (token) url.searchParams.set("tkn", token);
    url.hash = "";
    return url;
  } catch {
    return undefined;
  }
}

export type Route =
  | { view: "home" }
  | { view: "start"; attempts?: number }
  | { view: "attempts"; id: string }
  | { view: "new" }
  | { view: "inbox" }
  | { view: "automations" }
  | { view: "settings" }
  | { view: "connect" }
  | { view: "search"; query?: string }
  | ({ view: "session"; session: URI; chat: URI | null; /** The turn to begin reading at. */ at?: string; pane?: Pane } & PaneDetails);

export type Pane = "changes" | "terminals" | "details" | "files";

const PANES: readonly string[] = ["changes", "terminals", "details", "files"];

/** What a pane shows of all that it could. */
export interface PaneDetails {
  /** Of the changes: those of this turn. */
  turn?: string;
  /** Of the files: this one, by its path as somebody wrote it. */
  file?: string;
  /** Counted from 1. */
  line?: number;
}

function detailsIn(params: URLSearchParams): PaneDetails {
  const [turn, file, line] = [params.get("turn"), params.get("file"), Number(params.get("line"))];
  return { ...(turn ? { turn } : {}), ...(file ? { file } : {}), ...(line > 0 ? { line } : {}) };
}

/** Addresses are typed by people, too. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Pages that are named by their view alone. */
const PAGES = ["new", "inbox", "automations", "settings", "connect"] as const;

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view, id] = path.split("/", 2);
  if (view === "s" && id) {
    const params = new URLSearchParams(query);
    const pane = params.get("pane") ?? "";
    return {
      view: "session",
      session: decoded(id),
      chat: params.get("chat"),
      ...(params.get("at") ? { at: params.get("at") ?? "" } : {}),
      ...(PANES.includes(pane) ? { pane: pane as Pane } : {}),
      ...detailsIn(params),
    };
  }
  if (view === "search") {
    const words = new URLSearchParams(query).get("q");
    return { view, ...(words ? { query: words } : {}) };
  }
  if (view === "attempts" && id) return { view, id: decoded(id) };
  if (view === "start") {
    const attempts = Number(new URLSearchParams(query).get("attempts"));
    return { view, ...(attempts > 1 ? { attempts } : {}) };
  }
  return { view: PAGES.find((page) => page === view) ?? "home" };
}

export function hrefOf(route: Route): string {
  if (route.view === "home") return "#/";
  if (route.view === "search") return `#/search${route.query ? `?${new URLSearchParams({ q: route.query }).toString()}` : ""}`;
  if (route.view === "attempts") return `#/attempts/${encodeURIComponent(route.id)}`;
  if (route.view === "start") return `#/start${route.attempts ? `?attempts=${route.attempts}` : ""}`;
  if (route.view !== "session") return `#/${route.view}`;
  const params = new URLSearchParams();
  if (route.chat) params.set("chat", route.chat);
  if (route.at) params.set("at", route.at);
  if (route.pane) params.set("pane", route.pane);
  if (route.pane === "changes" && route.turn) params.set("turn", route.turn);
  if (route.pane === "files" && route.file) params.set("file", route.file);
  if (route.pane === "files" && route.line) params.set("line", String(route.line));
  const query = params.toString();
  return `#/s/${encodeURIComponent(route.session)}${query ? `?${query}` : ""}`;
}

export function go(route: Route): void {
  location.hash = hrefOf(route);
}

/** Notes what is looked for in the address, so that coming back finds it. */
export function replaceQuery(query: string): void {
  history.replaceState(history.state, "", hrefOf({ view: "search", query }));
}
