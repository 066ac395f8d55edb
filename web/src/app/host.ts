// The client's side of the host: one store, one connection, and the channels
// that somebody on the page looks at.

import { Connection } from "../protocol/connection";
import type { ConnectionOptions } from "../protocol/connection";
import { Listening } from "../protocol/listening";
import type { SessionSummary, Snapshot, URI } from "../protocol/types";
import { frameScheduler } from "../lib/frame";
import { groupOf } from "../state/sessions";
import { AppStore } from "../state/store";
import type { Shelf } from "../state/book";
import { describeThisClient } from "./client";
import { newId } from "../lib/id";

/** Turns of a chat that are asked for at once; older ones come on demand. */
const WINDOW_TURNS = 60;
const PAGE_SESSIONS = 500;

export class Host {
  readonly store: AppStore;
  readonly connection: Connection;
  readonly listening: Listening;
  private readonly users = new Map<URI, number>();
  private readonly opening = new Map<URI, Promise<void>>();

  constructor({ shelf, ...options }: Pick<ConnectionOptions, "open" | "whyRefused"> & { shelf?: Shelf }) {
    this.store = new AppStore({ clientId: newId(), schedule: frameScheduler(), shelf, now: () => Date.now() });
    this.connection = new Connection({
      ...options,
      memory: this.store,
      clientInfo: { name: "innkeeper-web", version: __APP_VERSION__, title: describeThisClient() },
      // The page speaks English, so the host's labels should, too.
      locale: "en",
      onReady: (isFirst) => {
        if (!isFirst) this.listening.again();
        void this.refreshSessions();
      },
      onNotification: (method, params) => this.listening.heard(method, params),
    });
    this.listening = new Listening(this.connection);
    this.store.connectTo((own) => this.connection.sendAction(own));
    this.store.subscribe(() => this.watchWaitingSessions());
  }

  /** Reads the catalogue again: its notifications are not replayed. */
  async refreshSessions(): Promise<void> {
    let cursor: string | undefined;
    let first = true;
    do {
      const params = { channel: "ahp-root://", limit: PAGE_SESSIONS, cursor };
      const page = await this.connection
        .request<{ items: SessionSummary[]; nextCursor?: string }>("listSessions", params)
        .catch(() => undefined);
      if (!page) return;
      cursor = page.nextCursor;
      this.store.handleServerEvent({ type: "sessions", items: page.items, first, last: cursor === undefined });
      first = false;
    } while (cursor !== undefined);
  }

  /** Keeps a channel open for as long as somebody uses it. */
  use(channel: URI): () => void {
    this.users.set(channel, (this.users.get(channel) ?? 0) + 1);
    void this.open(channel).catch(() => undefined);
    return () => {
      const left = (this.users.get(channel) ?? 1) - 1;
      this.users.set(channel, left);
      // Moving from view to view must not close and open again.
      if (left === 0) setTimeout(() => this.release(channel), 30_000);
    };
  }

  open(channel: URI): Promise<void> {
    if (this.store.has(channel)) return Promise.resolve();
    const known = this.opening.get(channel);
    if (known) return known;
    const params = { channel, view: { turns: WINDOW_TURNS } };
    const opening = this.connection
      .persist<{ snapshot?: Snapshot }>("subscribe", params, ({ snapshot }) => {
        if (snapshot) this.store.handleServerEvent({ type: "snapshot", snapshot });
      })
      .then(() => undefined)
      .finally(() => this.opening.delete(channel));
    this.opening.set(channel, opening);
    return opening;
  }

  private release(channel: URI): void {
    if (this.users.get(channel) || !this.store.has(channel) || this.needsWatching(channel)) return;
    // What is still on its way would be forgotten.
    if (this.store.unconfirmed().some((own) => own.channel === channel)) return void setTimeout(() => this.release(channel), 30_000);
    this.users.delete(channel);
    this.connection.notify("unsubscribe", { channel });
    this.store.handleServerEvent({ type: "channelGone", channel });
  }

  private needsWatching(channel: URI): boolean {
    const session = this.store.getState().sessions.find(({ resource }) => resource === channel);
    return session !== undefined && groupOf(session) === "needs-you";
  }

  /** Sessions that wait for a person are open, so that the inbox can show why. */
  private watchWaitingSessions(): void {
    if (!this.connection.ready) return;
    for (const session of this.store.getState().sessions) {
      if (groupOf(session) !== "needs-you") break;
      if (!this.store.has(session.resource)) void this.open(session.resource).catch(() => undefined);
    }
  }
}
