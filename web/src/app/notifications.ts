// Calling a person who looks elsewhere: the tab's title, the app's badge, and
// a notification of the browser when a session begins to need somebody.

import type { AppState } from "../state/appState";
import { titleOf as nameOf } from "../state/timeline";
import { go, hrefOf } from "./address";
import type { Route } from "./address";
import type { Host } from "./host";
import { remembered } from "./settings";

const wish = remembered("notifications");

export function canNotify(): boolean {
  return typeof Notification !== "undefined" && Notification.permission !== "denied";
}

export function notificationsOn(): boolean {
  return wish.read() === "on" && typeof Notification !== "undefined" && Notification.permission === "granted";
}

export async function setNotifications(on: boolean): Promise<boolean> {
  wish.write(on ? "on" : "off");
  if (on && canNotify()) await Notification.requestPermission();
  return notificationsOn();
}

export function callForAttention({ store }: Host): () => void {
  let known = new Set<string>();
  return store.subscribe(() => {
    const { inbox, session, currentSessionId } = store.getState();
    const title = titleOf(inbox.length, currentSessionId ? session?.title : undefined);
    if (document.title !== title) document.title = title;
    const keys = new Set(inbox.map(({ session: uri, request }) => `${uri}:${request.id}`));
    if (keys.size !== known.size) void badge(keys.size);
    for (const item of inbox) {
      const isNew = !known.has(`${item.session}:${item.request.id}`);
      const isSeen = document.visibilityState === "visible" && item.session === currentSessionId;
      if (isNew && !isSeen && notificationsOn()) show(item);
    }
    known = keys;
  });
}

function titleOf(waiting: number, title: string | undefined): string {
  return `${waiting ? `(${waiting}) ` : ""}${title ? `${title} · ` : ""}Innkeeper`;
}

async function badge(count: number): Promise<void> {
  try {
    await (count ? navigator.setAppBadge?.(count) : navigator.clearAppBadge?.());
  } catch {
    // Only installed apps have one.
  }
}

function show({ session, sessionTitle, request }: AppState["inbox"][number]): void {
  const body =
    request.kind === "chatInput"
      ? (request.request.message ?? "The agent asks something")
      : `Allow ${nameOf(request.toolCall)}?`;
  const route: Route = { view: "session", session, chat: null };
  const options = { body, tag: `${session}:${request.id}`, icon: "/icon-192.png", data: hrefOf(route) };
  const title = sessionTitle || "Innkeeper";
  try {
    const notification = new Notification(title, options);
    notification.onclick = () => {
      window.focus();
      go(route);
      notification.close();
    };
  } catch {
    // On phones only the service worker may, and it handles the click.
    void navigator.serviceWorker?.ready.then((worker) => worker.showNotification(title, options));
  }
}
