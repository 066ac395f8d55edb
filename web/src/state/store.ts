// The one place that holds what the client knows. Events of the host and own
// actions go in; an immutable `AppState` comes out: at most once a frame for
// what the host says, at once for what the user does.
//
// Invariants: nothing but `handleServerEvent` and the methods below changes
// anything; what was published is never changed afterwards; an own action is
// pending until the host echoes or rejects it; no word is lost (`book.ts`).

import type { OwnAction, ServerEvent } from "../protocol/events";
import type { ActionEnvelope, ChatState, Message, MessageAttachment, Snapshot, StateAction, URI } from "../protocol/types";
import type { AppState, ConnectionState, Notice, UiMessage } from "./appState";
import { Book } from "./book";
import type { Shelf } from "./book";
import type { Channel } from "./channel";
import { openChannel, receive, withOwnAction } from "./channel";
import { Catalogue } from "./catalogue";
import { withDecision } from "./decisions";
import type { Decisions } from "./decisions";
import { derive } from "./derive";
import type { Draft } from "./drafts";
import { NO_PACE, withPace } from "./pace";
import type { Pace } from "./pace";
import { largestOf, MAX_WEIGHT, mayMoveWords, repeatedTurn, TOO_LARGE, TOO_LARGE_HERE } from "./refusal";
import type { Refusal } from "./refusal";
import { removedBy } from "./spoken";
import type { Manner, Spoken } from "./spoken";
import { idsOf, joinedTo, marked } from "./steering";
import { timeline } from "./timeline";
import { editorsOf } from "./waiting";
import { joinWords, weightOf, wordsOf } from "./words";
import type { Words } from "./words";

/** More at once nobody reads. */
const MOST_NOTICES = 4;

export interface StoreOptions {
  clientId: string;
  /** Asked to call back soon, whenever there is something new to publish. */
  schedule: (flush: () => void) => void;
  /** Where words outlive the page. */
  shelf?: Shelf;
  /** What time it is; without it, nothing is timed. */
  now?: () => number;
}

export class AppStore {
  readonly clientId: string;
  /** The largest sequence number that was seen, for coming back. */
  lastSeenServerSeq = 0;

  private readonly schedule: StoreOptions["schedule"];
  private readonly now: StoreOptions["now"];
  private readonly listeners = new Set<() => void>();
  private readonly channels = new Map<URI, Channel>();
  private decisions: Decisions = new Map();
  private pace: Pace = NO_PACE;
  private readonly catalogue = new Catalogue();
  private readonly book: Book;
  private connection: ConnectionState = { phase: "connecting", attempt: 0, completionTriggers: [] };
  private currentSessionId: URI | null = null;
  private currentChatId: URI | null = null;
  private sidebarOpen = true;
  private dockedId: string | null = null;
  private notices: Notice[] = [];
  private starting: ReadonlyMap<URI, string> = new Map();
  private nextNotice = 1;
  private nextClientSeq = 1;
  private state: AppState;
  private send: (own: OwnAction) => void = () => {};

  constructor({ clientId, schedule, shelf, now }: StoreOptions) {
    this.clientId = clientId;
    this.book = new Book(shelf);
    this.schedule = schedule;
    this.now = now;
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
        // What follows is told to the connection that is lost.
        this.starting = new Map();
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
      case "tooLarge":
        this.refuseLargest();
        break;
      case "channelGone":
        this.book.gone(event.channel, this.channels.get(event.channel)?.pending ?? []);
        this.channels.delete(event.channel);
        break;
      case "progress":
        this.progressed(event);
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
          telemetry: hello.telemetry,
        }
      : base;
    this.seen(hello?.serverSeq ?? 0);
    for (const snapshot of hello?.snapshots ?? []) this.opened(snapshot);
  }

  /** The token is the address of the session that is being started. */
  private progressed({ progressToken, progress, total, message }: Extract<ServerEvent, { type: "progress" }>): void {
    const starting = new Map(this.starting);
    starting.delete(progressToken);
    if (message && (total === undefined || progress < total)) starting.set(progressToken, message);
    this.starting = starting;
  }

  private opened(snapshot: Snapshot): void {
    this.seen(snapshot.fromSeq);
    const before = this.channels.get(snapshot.resource);
    const channel = openChannel(snapshot, before?.pending);
    if (!channel) return;
    this.channels.set(snapshot.resource, channel);
    this.lookAfterWords(channel, undefined);
  }

  private acted(envelope: ActionEnvelope): void {
    const { channel: uri, origin, action, rejectionReason } = envelope;
    this.seen(envelope.serverSeq);
    const before = this.channels.get(uri);
    const isOurs = origin?.clientId === this.clientId;
    const refusal: Refusal | undefined = isOurs && rejectionReason !== undefined ? { clientSeq: origin.clientSeq, reason: rejectionReason } : undefined;
    const hadWords = refusal !== undefined && this.book.carries(refusal.clientSeq);
    const repeated = refusal && repeatedTurn(envelope, before?.confirmed);
    if (before) {
      const after = receive(before, envelope, this.clientId);
      this.channels.set(uri, after);
      if (rejectionReason === undefined && before.confirmed.kind === "chat") {
        this.book.forget(removedBy(action, before.confirmed.state));
        const where = { chat: uri, activeTurnId: before.confirmed.state.activeTurn?.id };
        if (this.now && after.confirmed.kind === "chat") this.pace = withPace(this.pace, after.confirmed.state, action, this.now());
        if (origin) this.decisions = withDecision(this.decisions, where, action, origin.clientId);
      }
      if (isOurs && !refusal) this.book.confirm(origin.clientSeq);
      if (repeated !== undefined) this.book.forget([repeated]);
      if (refusal || mayMoveWords(action)) this.lookAfterWords(after, before, refusal);
      if (isOurs && !refusal) this.followUp(action, after);
    }
    if (refusal) {
      this.catalogue.forgetOwn(uri);
      if (repeated === undefined && action.type !== "chat/draftChanged") this.tellRefusal(uri, refusal.reason, hadWords);
    }
  }

  /**
   * A steering message of ours that crossed the end of its turn has nothing to
   * steer, and the host keeps it for a turn that somebody begins. It was said
   * to be heard: so it follows as the next message. What is replayed has a
   * future already.
   */
  private followUp(action: StateAction, { uri, confirmed, view }: Channel): void {
    if (action.type !== "chat/pendingMessageSet" || action.kind !== "steering") return;
    if (this.connection.phase !== "connected" || confirmed.kind !== "chat" || view.kind !== "chat") return;
    const waiting = view.state.steeringMessage;
    if (confirmed.state.activeTurn || view.state.activeTurn || waiting?.id !== action.id) return;
    this.dispatch(uri, { type: "chat/pendingMessageRemoved", kind: "steering", id: waiting.id });
    const id = `${waiting.id}-next`;
    const { _meta: _, ...message } = waiting.message;
    const clientSeq = this.nextClientSeq++;
    this.book.say({ id, chat: uri, manner: "queue", words: wordsOf(message), clientSeq, isConfirmed: false }, undefined);
    this.act(uri, { type: "chat/pendingMessageSet", kind: "queued", id, message: marked(message, id) }, clientSeq);
  }

  /** Words come back to their editor, and the reason stands there; elsewhere it is said. */
  private tellRefusal(uri: URI, reason: string, hadWords: boolean): void {
    if (!hadWords) this.notify({ tone: "error", text: reason });
    else if (uri !== this.state.currentChatId) {
      this.notify({ tone: "error", text: `A message was not sent: ${reason}. It is back in the editor of its session.` });
    }
  }

  /**
   * The host closed the connection because of the size of something. Sent
   * again, it would close the next one too.
   */
  private refuseLargest(): void {
    const largest = largestOf(this.unconfirmed());
    if (!largest) return;
    const { channel, clientSeq, action } = largest;
    const origin = { clientId: this.clientId, clientSeq };
    this.acted({ channel, action, serverSeq: 0, origin, rejectionReason: TOO_LARGE_HERE });
  }

  /** Finds out what became of own words, and what the host's draft says. */
  private lookAfterWords(after: Channel, before: Channel | undefined, refusal?: Refusal): void {
    const { uri, view, confirmed, pending } = after;
    if (view.kind !== "chat" || confirmed.kind !== "chat") return;
    if (this.book.hasSpokenIn(uri)) this.book.audit(uri, { view: view.state, confirmed: confirmed.state, pending }, refusal);
    this.book.sweep(uri, view.state);
    const known = before?.view.kind === "chat" ? before.view.state : undefined;
    if (!known || known.draft !== view.state.draft) this.book.hostSays(uri, view.state);
  }

  private seen(serverSeq: number): void {
    this.lastSeenServerSeq = Math.max(this.lastSeenServerSeq, serverSeq);
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
    this.act(channel, action, this.nextClientSeq++);
  }

  private act(channel: URI, action: StateAction, clientSeq: number): void {
    const own: OwnAction = { channel, clientSeq, action };
    const open = this.channels.get(channel);
    if (open) {
      if (open.view.kind === "chat") this.book.forget(removedBy(action, open.view.state));
      const next = withOwnAction(open, own);
      this.channels.set(channel, next);
      if (mayMoveWords(action)) this.lookAfterWords(next, open);
    }
    this.catalogue.foresee(channel, action);
    this.send(own);
    this.changed();
    this.flush();
  }

  /** What stands in the editor of a chat. */
  write(chat: URI, change: (words: Words) => Words): void {
    this.book.write(chat, change(this.book.draftOf(chat).words));
    this.changed();
    this.flush();
  }

  giveBack(chat: URI, words: Words, note?: string): void {
    this.book.giveBack(chat, words, note);
    this.changed();
    this.flush();
  }

  /** What was written in these editors has gone where it was meant to go. */
  clear(...editors: URI[]): void {
    for (const editor of editors) this.book.clear(editor);
    this.changed();
  }

  dismissNote(chat: URI): void {
    this.book.dismissNote(chat);
    this.changed();
  }

  /** Words that an earlier page left behind. */
  restoreWords(drafts: Iterable<[URI, Draft]>, said: Iterable<Spoken>): void {
    this.book.restore(drafts, said);
    for (const channel of this.channels.values()) this.lookAfterWords(channel, undefined);
    this.changed();
  }

  /**
   * Says a message: it leaves the editor, and is kept until it has arrived. A
   * steering message takes along the one that waits, which it would replace.
   */
  say(chat: URI, id: string, said: Message, manner: Exclude<Manner, "deny">, startedAt: string): void {
    const view = this.channels.get(chat)?.view;
    const state = view?.kind === "chat" ? view.state : undefined;
    const words = wordsOf(said);
    const message = joinedTo(manner === "steer" ? state?.steeringMessage : undefined, marked(said, id));
    if (weightOf(wordsOf(message)) > MAX_WEIGHT) return this.giveBack(chat, words, TOO_LARGE);
    const clientSeq = this.nextClientSeq++;
    const isFromEditor = words.text === this.book.draftOf(chat).words.text;
    this.book.say({ id, chat, manner, words, clientSeq, isConfirmed: false }, isFromEditor ? chat : undefined);
    const kind = manner === "steer" ? "steering" : "queued";
    if (manner === "send") this.act(chat, { type: "chat/turnStarted", turnId: id, startedAt, message }, clientSeq);
    else this.act(chat, { type: "chat/pendingMessageSet", kind, id, message }, clientSeq);
    if (isFromEditor && state?.draft) this.dispatch(chat, { type: "chat/draftChanged", draft: undefined });
  }

  /** Decides on a call. Words for the agent come back if the decision is refused. */
  decide(chat: URI, action: Extract<StateAction, { type: "chat/toolCallConfirmed" }>, words: Words): void {
    const clientSeq = this.nextClientSeq++;
    this.book.say({ id: `${action.toolCallId}:${clientSeq}`, chat, manner: "deny", words, clientSeq, isConfirmed: false }, undefined);
    for (const editor of editorsOf(chat, action.toolCallId)) this.book.clear(editor);
    this.act(chat, action, clientSeq);
  }

  /** Takes back everything that waits in the current chat, into its editor. */
  clearScheduledMessages(): UiMessage[] {
    this.flush();
    const { scheduledMessages, currentChatId: chat, chat: state } = this.state;
    if (!chat || !state) return [];
    const waiting = [...(state.steeringMessage ? [state.steeringMessage] : []), ...(state.queuedMessages ?? [])];
    const back = joinWords(...waiting.map(({ id, message }) => this.asSaid(id, message)));
    this.giveBack(chat, back);
    for (const { id, scheduled: kind } of scheduledMessages) {
      if (kind) this.dispatch(chat, { type: "chat/pendingMessageRemoved", kind, id });
    }
    return scheduledMessages;
  }

  /** A message with its attachments as they were before the host took them in. */
  private asSaid(id: string, message: Message): Words {
    const { text, attachments } = wordsOf(message);
    const own = this.book.wordsOfSaid([...new Set([...idsOf(message), id])]).flatMap((words) => words.attachments);
    // Each once, in their order: pasted pictures all have the same name.
    const original = (one: MessageAttachment) => {
      const at = own.findIndex(({ label }) => label === one.label);
      return at < 0 ? one : (own.splice(at, 1)[0] ?? one);
    };
    return { text, attachments: attachments.map(original) };
  }

  select(session: URI | null, chat: URI | null = null): void {
    if (session === this.currentSessionId && chat === this.currentChatId) return;
    this.currentSessionId = session;
    this.currentChatId = chat;
    this.changed();
  }

  /** Which of the things that wait is shown at the editor. */
  dock(id: string | null): void {
    this.dockedId = id;
    this.changed();
    this.flush();
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

  /** Says something to the user. The same words again are counted, not repeated. */
  notify(notice: Omit<Notice, "id" | "times">): number {
    const known = notice.action ? undefined : this.notices.find(({ text, tone, action }) => !action && text === notice.text && tone === notice.tone);
    const id = known?.id ?? this.nextNotice++;
    const said = { ...notice, id, ...(known ? { times: (known.times ?? 1) + 1 } : {}) };
    this.notices = [...this.notices.filter((other) => other.id !== id).slice(1 - MOST_NOTICES), said];
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
        pace: this.pace,
        sessions: this.catalogue.list(),
        sessionsLoaded: this.catalogue.isLoaded,
        currentSessionId: this.currentSessionId,
        currentChatId: this.currentChatId,
        sidebarOpen: this.sidebarOpen,
        drafts: this.book.drafts,
        dockedId: this.dockedId,
        notices: this.notices,
        starting: this.starting,
      },
      before,
    );
  }
}
