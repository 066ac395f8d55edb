// Calling a person who looks elsewhere: the tab's title, the app's badge, and
// a notification of the browser when a session is done, failed, or begins to
// need somebody.

import { Status } from "../protocol/types";
import type { SessionSummary } from "../protocol/types";
import type { AppState } from "../state/appState";
import { happenings } from "../state/happenings";
import type { Happening } from "../state/happenings";
import { groupOf } from "../state/sessions";
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
  let sessions = store.getState().sessions;
  return store.subscribe(() => {
    const state = store.getState();
    const { inbox, session, currentSessionId } = state;
    const failed = state.sessions.filter(isUnseenFailure).length;
    const title = titleOf(inbox.length + failed, currentSessionId ? session?.title : undefined);
    if (document.title !== title) document.title = title;
    const isLookedAt = (uri: string) => document.visibilityState === "visible" && document.hasFocus() && uri === currentSessionId;
    const keys = new Set(inbox.map(({ session: uri, request }) => `${uri}:${request.id}`));
    if (keys.size !== known.size) void badge(keys.size);
    for (const item of inbox) {
      const isNew = !known.has(`${item.session}:${item.request.id}`);
      if (isNew && !isLookedAt(item.session) && notificationsOn()) show(waiting(item));
    }
    known = keys;
    for (const happening of happenings(sessions, state.sessions)) {
      if (!isLookedAt(happening.session.resource) && notificationsOn()) show(ended(happening));
    }
    sessions = state.sessions;
  });
}

function isUnseenFailure(session: SessionSummary): boolean {
  return groupOf(session) === "failed" && (session.status & Status.IsRead) === 0;
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

interface Call {
  title: string;
  body: string;
  session: string;
  /** A later call with the same takes the place of this one. */
  tag: string;
}

function waiting({ session, sessionTitle, request }: AppState["inbox"][number]): Call {
  const isQuestion = request.kind === "chatInput";
  const body = isQuestion ? (request.request.message ?? "The agent asks something") : `Allow ${nameOf(request.toolCall)}?`;
  return { title: sessionTitle || "Innkeeper", body, session, tag: `${session}:${request.id}` };
}

function ended({ kind, session: { resource, title, activity } }: Happening): Call {
  const body = kind === "failed" ? `Failed${activity ? `: ${activity}` : ""}` : "Done";
  return { title: title || "New session", body, session: resource, tag: `${resource}:ended` };
}

function show({ title, body, session, tag }: Call): void {
  const route: Route = { view: "session", session, chat: null };
  const options = { body, tag, icon: "./icon-192.png", data: hrefOf(route) };
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
