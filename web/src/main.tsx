import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { socketUrl, takeToken } from "./app/address";
import { rememberClient } from "./app/client";
import { HostContext } from "./app/context";
import { shareDrafts } from "./app/drafts";
import { Host } from "./app/host";
import { Keeping } from "./app/keeping";
import { callForAttention } from "./app/notifications";
import { applyTheme, currentTheme, followAppearance } from "./app/settings";
import { restoreSidebar } from "./app/sidebar";
import type { SocketLike } from "./protocol/connection";
import { App } from "./views/App";
import "./styles/index.css";

applyTheme(currentTheme());
const token = takeToken();
const keeping = new Keeping();
const host = new Host({
  shelf: keeping.shelf,
  open: () => new WebSocket(socketUrl(token)) as SocketLike,
  whyRefused,
});

/** The host is there, but did not let us in: that is the token, mostly. */
async function whyRefused(): Promise<string | undefined> {
  const answer = await fetch("/healthz").catch(() => undefined);
  if (!answer?.ok) return undefined;
  return token
    ? "The host does not accept this token. Open the address that it prints when it starts, or enter its token here."
    : "The host wants a token. Open the address that it prints when it starts, or enter the token here.";
}

addEventListener("online", () => host.connection.nudge());
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") host.connection.nudge();
});
callForAttention(host);
followAppearance(host);
restoreSidebar(host);
rememberClient(host.store.clientId);
void keeping.start(host);
shareDrafts(host);
host.connection.start();

// For tests and for the curious; nothing in the client uses it.
Object.assign(globalThis, { innkeeper: host });

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <HostContext value={host}>
      <App />
    </HostContext>
  </StrictMode>,
);

if ("serviceWorker" in navigator && import.meta.env.PROD) void navigator.serviceWorker.register("/sw.js").catch(() => undefined);
