// The one place that holds what the client knows. Events of the host and own
// actions go in; an immutable `AppState` comes out: at most once a frame for
// what the host says, at once for what the user does.
//
// Invariants: nothing but `handleServerEvent` and the methods below changes
// anything; what was published is never changed afterwards; an own action is
// pending until the host echoes or rejects it.

import type { ActionEnvelope, ChatState, SessionSummary, Snapshot, StateAction, URI } from "../protocol/types";
import type { AppState, ConnectionState, Notice, UiMessage } from "./appState";
import type { Channel, PendingAction } from "./channel";
import { openChannel, receive, withOwnAction } from "./channel";
import { Catalogue } from "./catalogue";
import type { ServerEvent } from "./events";
import { derive } from "./derive";
import { timeline } from "./timeline";

export interface OwnAction extends PendingAction {
  channel: URI;
}

export interface StoreOptions {
  clientId: string;
  /** Asked to call back soon, whenever there is something new to publish. */
  schedule: (flush: () => void) => void;
}

export class AppStore {
  readonly clientId: string;
  /** The largest sequence number that was seen, for coming back. */
  lastSeenServerSeq = 0;

  private readonly schedule: StoreOptions["schedule"];
  private readonly listeners = new Set<() => void>();
  private readonly channels = new Map<URI, Channel>();
  private readonly decisions = new Map<string, string>();
  private readonly catalogue = new Catalogue();
  private connection: ConnectionState = { phase: "connecting", attempt: 0, completionTriggers: [] };
  private currentSessionId: URI | null = null;
  private currentChatId: URI | null = null;
  private sidebarOpen = true;
  private notices: Notice[] = [];
  private nextNotice = 1;
  private nextClientSeq = 1;
  private state: AppState;
  private send: (own: OwnAction) => void = () => {};

  constructor({ clientId, schedule }: StoreOptions) {
    this.clientId = clientId;
    this.schedule = schedule;
    this.state = this.derived(undefined);
  }

  // ── Reading ──

  getState = (): AppState => this.state;

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  channelUris(): URI[] {
    return [...this.channels.keys()];
  }

  has(channel: URI): boolean {
    return this.channels.has(channel);
  }

  /** Own actions that the host has neither echoed nor rejected, oldest first. */
  unconfirmed(): OwnAction[] {
    const all = [...this.channels.values()].flatMap(({ uri, pending }) =>
      pending.map((own) => ({ ...own, channel: uri })),
    );
    return all.sort((a, b) => a.clientSeq - b.clientSeq);
  }

  // ── What the host says ──

  handleServerEvent(event: ServerEvent): void {
    switch (event.type) {
      case "connecting": {
        // Whoever was turned away stays at the door until let in: the form
        // with the token must not go away while it is filled in.
        const isRefused = this.connection.phase === "refused";
        const phase = isRefused ? "refused" : this.lastSeenServerSeq ? "reconnecting" : "connecting";
        const reason = event.reason ?? (isRefused ? this.connection.reason : undefined);
        this.connection = { ...this.connection, phase, attempt: event.attempt, reason };
        break;
      }
      case "refused":
        this.connection = { ...this.connection, phase: "refused", reason: event.reason };
        break;
      case "connected":
        this.connected(event.hello);
        break;
      case "snapshot":
        this.opened(event.snapshot);
        break;
      case "action":
        this.acted(event.envelope);
        break;
      case "channelGone":
        this.channels.delete(event.channel);
        break;
      case "authRequired": {
        const { resource, resource_name: name } = event.resource;
        const action = { label: "Sign in", href: "#/settings" };
        this.notify({ tone: "info", text: `${name ?? resource} wants you to sign in`, action });
        break;
      }
      default:
        this.catalogue.handle(event);
    }
    this.changed();
  }

  /** Hydrates a stored chat. A restored history looks exactly like a live one. */
  loadMessagesFromHistory(chat: ChatState): UiMessage[] {
    return timeline(chat, this.connection.shellPrefix);
  }

  private connected(hello: Extract<ServerEvent, { type: "connected" }>["hello"]): void {
    const base: ConnectionState = { ...this.connection, phase: "connected", attempt: 0, reason: undefined };
    this.connection = hello
      ? {
          ...base,
          server: hello.serverInfo,
          defaultDirectory: hello.defaultDirectory,
          completionTriggers: hello.completionTriggerCharacters ?? [],
          shellPrefix: hello.terminalCommandPrefix,
        }
      : base;
    this.seen(hello?.serverSeq ?? 0);
    for (const snapshot of hello?.snapshots ?? []) this.opened(snapshot);
  }

  private opened(snapshot: Snapshot): void {
    this.seen(snapshot.fromSeq);
    const before = this.channels.get(snapshot.resource);
    const channel = openChannel(snapshot, before?.pending);
    if (channel) this.channels.set(snapshot.resource, channel);
  }

  private acted(envelope: ActionEnvelope): void {
    const { channel: uri, origin, action, rejectionReason } = envelope;
    this.seen(envelope.serverSeq);
    const channel = this.channels.get(uri);
    if (channel) this.channels.set(uri, receive(channel, envelope, this.clientId));
    const isOurs = origin?.clientId === this.clientId;
    if (rejectionReason !== undefined) {
      // Said again after a lost connection: it had arrived the first time.
      const isRepeat = action.type === "chat/turnStarted" && /exists already/.test(rejectionReason);
      if (isOurs && !isRepeat) this.notify({ tone: "error", text: rejectionReason });
      if (isOurs) this.catalogue.forgetOwn(uri);
    } else if (origin) {
      this.noteDecision(action, origin.clientId);
    }
  }

  private seen(serverSeq: number): void {
    this.lastSeenServerSeq = Math.max(this.lastSeenServerSeq, serverSeq);
  }

  private noteDecision(action: StateAction, clientId: string): void {
    if (action.type === "chat/toolCallConfirmed" || action.type === "chat/toolCallResultConfirmed") {
      this.decisions.set(action.toolCallId, clientId);
    } else if (action.type === "chat/inputCompleted") {
      this.decisions.set(action.requestId, clientId);
    } else if (action.type === "chat/turnStarted" || action.type === "chat/turnCancelled") {
      this.decisions.set(`${action.turnId}:${action.type}`, clientId);
    }
  }

  // ── What the user does ──

  /** Where own actions go. */
  connectTo(send: (own: OwnAction) => void): void {
    this.send = send;
  }

  /**
   * Says something on a channel: it shows at once and is reconciled later. Not
   * with the next frame: until then a control would show what it showed before,
   * and a second click would build on that.
   */
  dispatch(channel: URI, action: StateAction): void {
    const own: OwnAction = { channel, clientSeq: this.nextClientSeq++, action };
    const open = this.channels.get(channel);
    if (open) this.channels.set(channel, withOwnAction(open, own));
    this.catalogue.foresee(channel, action);
    this.send(own);
    this.changed();
    this.flush();
  }

  /** Takes back everything that waits in the current chat, and returns it. */
  clearScheduledMessages(): UiMessage[] {
    this.flush();
    const { scheduledMessages, currentChatId: chat } = this.state;
    for (const { id, scheduled: kind } of chat ? scheduledMessages : []) {
      if (chat && kind) this.dispatch(chat, { type: "chat/pendingMessageRemoved", kind, id });
    }
    return scheduledMessages;
  }

  select(session: URI | null, chat: URI | null = null): void {
    if (session === this.currentSessionId && chat === this.currentChatId) return;
    this.currentSessionId = session;
    this.currentChatId = chat;
    this.changed();
  }

  setSidebarOpen(open: boolean): void {
    this.sidebarOpen = open;
    this.changed();
  }

  /** Leaves a session out of the list while its deletion can be undone. */
  hideSession(session: URI, hidden: boolean): void {
    this.catalogue.hide(session, hidden);
    this.changed();
  }

  notify(notice: Omit<Notice, "id">): number {
    const id = this.nextNotice++;
    this.notices = [...this.notices.slice(-3), { ...notice, id }];
    this.changed();
    return id;
  }

  dismiss(notice: number): void {
    this.notices = this.notices.filter(({ id }) => id !== notice);
    this.changed();
  }

  // ── Publishing ──

  /** Publishes now what has changed. */
  flush = (): void => {
    if (!this.isDirty) return;
    this.isDirty = false;
    this.state = this.derived(this.state);
    for (const listener of [...this.listeners]) listener();
  };

  private isDirty = false;

  private changed(): void {
    this.isDirty = true;
    this.schedule(this.flush);
  }

  private derived(before: AppState | undefined): AppState {
    return derive(
      {
        connection: this.connection,
        channels: this.channels,
        decisions: this.decisions,
        sessions: this.catalogue.list(),
        sessionsLoaded: this.catalogue.isLoaded,
        currentSessionId: this.currentSessionId,
        currentChatId: this.currentChatId,
        sidebarOpen: this.sidebarOpen,
        notices: this.notices,
      },
      before,
    );
  }
}

export type { SessionSummary };
