// The open chat as a file on the user's device.

import { pathOf } from "../protocol/uri";
import { stateOf } from "../state/derive";
import { sessionHtml } from "../state/exportHtml";
import { timeline } from "../state/timeline";
import { loadOlder } from "./chat";
import type { Host } from "./host";

/** A chat has as many pages of turns, and then it is enough. */
const MOST_PAGES = 500;

export async function exportSession(host: Host): Promise<void> {
  const { store } = host;
  const { currentChatId: chat, session, root } = store.getState();
  if (!chat || !session) return;
  await loadAll(host, chat);
  const state = stateOf(store.getState().channels, chat, "chat");
  if (!state) return;
  const title = session.title || "New session";
  const agent = root?.agents.find(({ provider }) => provider === session.provider)?.displayName ?? session.provider;
  const html = sessionHtml({
    title,
    agent,
    directories: (session.workingDirectories ?? []).map(pathOf),
    writtenAt: new Date().toLocaleString(undefined, { dateStyle: "long", timeStyle: "short" }),
    messages: timeline(state, store.getState().connection.shellPrefix),
  });
  save(`${fileName(title)}.html`, html);
}

/** The page has the latest turns; the file should have all. */
async function loadAll(host: Host, chat: string): Promise<void> {
  const cursorOf = () => {
    host.store.flush();
    return stateOf(host.store.getState().channels, chat, "chat")?.turnsNextCursor;
  };
  let cursor = cursorOf();
  for (let page = 0; cursor && page < MOST_PAGES; page++) {
    await loadOlder(host, chat, cursor);
    const next = cursorOf();
    if (next === cursor) return;
    cursor = next;
  }
}

function fileName(title: string): string {
  return title.normalize("NFKD").replace(/[^\w -]+/g, "").trim().replace(/\s+/g, "-").slice(0, 60) || "session";
}

function save(name: string, html: string): void {
  const link = document.createElement("a");
  const url = URL.createObjectURL(new Blob([html], { type: "text/html" }));
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
