// This page as others see it, and the pages before it: the host keeps a client
// for a while after its page is gone, and nobody is company to themselves.

import { isTexts, readPreference, writePreference } from "./preferences";

const CLIENTS = "clients";
const MOST = 50;
const NONE: string[] = [];

/** Notes the name of this page, so that later pages of this browser know it. */
export function rememberClient(clientId: string): void {
  const known = readPreference(CLIENTS, NONE, isTexts).filter((id) => id !== clientId);
  writePreference(CLIENTS, [...known, clientId].slice(-MOST));
}

/** Whether a client is or was a page of this browser. */
export function isOwnClient(clientId: string): boolean {
  return readPreference(CLIENTS, NONE, isTexts).includes(clientId);
}

/** How this client is named to the others on a session. */
export function describeThisClient(): string {
  const agent = typeof navigator === "undefined" ? "" : navigator.userAgent;
  const browser = /Firefox\//.test(agent)
    ? "Firefox"
    : /Edg\//.test(agent)
      ? "Edge"
      : /Chrome\//.test(agent)
        ? "Chrome"
        : /Safari\//.test(agent)
          ? "Safari"
          : "Browser";
  const device = /iPhone/.test(agent)
    ? "iPhone"
    : /iPad/.test(agent)
      ? "iPad"
      : /Android/.test(agent)
        ? "Android"
        : /Mac/.test(agent)
          ? "Mac"
          : /Windows/.test(agent)
            ? "Windows"
            : /Linux/.test(agent)
              ? "Linux"
              : "";
  return device ? `${browser} on ${device}` : browser;
}
