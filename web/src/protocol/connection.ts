// One client on one WebSocket, for as long as the page lives: says hello,
// comes back after every loss, and takes up exactly where it was.
//
// Invariant: an own action is sent until its echo or rejection has been seen;
// after a loss only those are sent again that the host's answer does not hold.

import { Backoff } from "./backoff";
import type { OwnAction, ServerEvent } from "./events";
import { ConnectionLost, Rpc, RpcError } from "./rpc";
import type { ActionEnvelope, InitializeResult, ProtectedResource, SessionSummary, Snapshot, URI } from "./types";

const ROOT = "ahp-root://";
const PROTOCOL_VERSIONS = ["1.0.0"];
/** Silence for this long after a question means that nobody is there. */
const PING_TIMEOUT_MS = 10_000;
const PING_EVERY_MS = 25_000;
/** The close code of whoever got a larger message than they take. */
const TOO_LARGE = 1009;

/** What the connection needs to know about the state when it comes back. */
export interface Memory {
  clientId: string;
  lastSeenServerSeq: number;
  channelUris(): URI[];
  unconfirmed(): OwnAction[];
  handleServerEvent(event: ServerEvent): void;
}

export interface SocketLike {
  send(text: string): void;
  close(): void;
  onopen: ((event: never) => void) | null;
  onclose: ((event: { code?: number }) => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
}

export interface ConnectionOptions {
  memory: Memory;
  open: () => SocketLike;
  clientInfo: { name: string; version: string; title?: string };
  /** The language in which the host should label what it offers. */
  locale?: string;
  /** Asked when a connection could not be opened: is the host there at all? */
  whyRefused?: () => Promise<string | undefined>;
  /** Called whenever a connection is ready, the first and every later time. */
  onReady: (isFirst: boolean) => void;
  /** Called with whatever the host says of its own accord, also where it is no event of the state. */
  onNotification?: (method: string, params: unknown) => void;
  wait?: (ms: number, run: () => void) => () => void;
}

type ReconnectResult =
  | { type: "replay"; actions: ActionEnvelope[]; missing: URI[] }
  | { type: "snapshot"; snapshots: Snapshot[] };

export class Connection {
  private socket: SocketLike | undefined;
  private rpc: Rpc | undefined;
  private isReady = false;
  private isIntroduced = false;
  private isStopped = false;
  private cancelRetry: (() => void) | undefined;
  private stopPinging: (() => void) | undefined;
  private readonly backoff = new Backoff();
  private readonly waiters: (() => void)[] = [];
  private readonly wait: NonNullable<ConnectionOptions["wait"]>;

  constructor(private readonly options: ConnectionOptions) {
    this.wait = options.wait ?? timer;
  }

  start(): void {
    this.isStopped = false;
    this.connect();
  }

  stop(): void {
    this.isStopped = true;
    this.cancelRetry?.();
    this.lost(this.socket);
  }

  /** Something suggests that the network is back, or that it may be gone. */
  nudge(): void {
    if (this.isStopped) return;
    if (this.isReady) void this.ping();
    else if (this.cancelRetry) this.connect();
  }

  /** Drops the socket as a broken network would. */
  drop(): void {
    this.lost(this.socket);
  }

  get ready(): boolean {
    return this.isReady;
  }

  /** Resolves once there is a connection that has caught up. */
  whenReady(): Promise<void> {
    return this.isReady ? Promise.resolve() : new Promise((resolve) => this.waiters.push(resolve));
  }

  async request<T>(method: string, params: object, apply?: (result: T) => void): Promise<T> {
    await this.whenReady();
    if (!this.rpc) throw new ConnectionLost("the connection was lost");
    return this.rpc.request<T>(method, params, apply);
  }

  /** Like `request`, asked again on the next connection if this one is lost. */
  async persist<T>(method: string, params: object, apply?: (result: T) => void): Promise<T> {
    for (;;) {
      try {
        return await this.request<T>(method, params, apply);
      } catch (error) {
        if (!(error instanceof ConnectionLost) || this.isStopped) throw error;
      }
    }
  }

  notify(method: string, params: object): void {
    if (this.isReady) this.rpc?.notify(method, params);
  }

  /** Actions said while there is no connection wait in the store. */
  sendAction({ channel, clientSeq, action }: OwnAction): void {
    this.notify("dispatchAction", { channel, clientSeq, action });
  }

  private connect(): void {
    this.cancelRetry?.();
    this.cancelRetry = undefined;
    const socket = this.options.open();
    const rpc = new Rpc(
      (text) => socket.send(text),
      (method, params) => this.notified(method, params),
    );
    this.socket = socket;
    this.rpc = rpc;
    let wasOpen = false;
    socket.onopen = () => {
      wasOpen = true;
      this.introduce(rpc).then(
        () => this.caughtUp(socket),
        (error: unknown) => this.failed(socket, error),
      );
    };
    socket.onmessage = ({ data }) => {
      if (socket === this.socket && typeof data === "string") rpc.receive(data);
    };
    socket.onclose = ({ code }) => {
      if (socket !== this.socket) return;
      if (code === TOO_LARGE) this.options.memory.handleServerEvent({ type: "tooLarge" });
      this.lost(socket);
      if (!wasOpen) void this.explain();
    };
  }

  private async introduce(rpc: Rpc): Promise<void> {
    const { memory } = this.options;
    if (this.isIntroduced) {
      try {
        await this.comeBack(rpc);
        return;
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        // The host knows nothing of us any more: begin again.
      }
    }
    const channels = new Set([ROOT, ...memory.channelUris()]);
    await rpc.request<InitializeResult>(
      "initialize",
      {
        channel: ROOT,
        protocolVersions: PROTOCOL_VERSIONS,
        clientId: memory.clientId,
        clientInfo: this.options.clientInfo,
        initialSubscriptions: [...channels],
        ...(this.options.locale ? { locale: this.options.locale } : {}),
      },
      (hello) => {
        memory.handleServerEvent({ type: "connected", hello });
        const there = new Set(hello.snapshots.map(({ resource }) => resource));
        this.dropChannels([...channels].filter((uri) => !there.has(uri)));
      },
    );
    this.isIntroduced = true;
  }

  private comeBack(rpc: Rpc): Promise<ReconnectResult> {
    const { memory } = this.options;
    const subscriptions = memory.channelUris();
    const params = {
      channel: ROOT,
      clientId: memory.clientId,
      lastSeenServerSeq: memory.lastSeenServerSeq,
      subscriptions,
    };
    return rpc.request<ReconnectResult>("reconnect", params, (result) => {
      if (result.type === "replay") {
        for (const envelope of result.actions) memory.handleServerEvent({ type: "action", envelope });
        this.dropChannels(result.missing);
      } else {
        const there = new Set(result.snapshots.map(({ resource }) => resource));
        for (const snapshot of result.snapshots) memory.handleServerEvent({ type: "snapshot", snapshot });
        this.dropChannels(subscriptions.filter((uri) => !there.has(uri)));
      }
      memory.handleServerEvent({ type: "connected" });
    });
  }

  private dropChannels(channels: URI[]): void {
    for (const channel of channels) {
      if (channel !== ROOT) this.options.memory.handleServerEvent({ type: "channelGone", channel });
    }
  }

  private caughtUp(socket: SocketLike): void {
    if (socket !== this.socket) return;
    const isFirst = !this.wasReady;
    this.wasReady = true;
    this.isReady = true;
    this.backoff.reset();
    for (const own of this.options.memory.unconfirmed()) this.sendAction(own);
    this.schedulePing();
    for (const resolve of this.waiters.splice(0)) resolve();
    this.options.onReady(isFirst);
  }

  private wasReady = false;

  private failed(socket: SocketLike, error: unknown): void {
    if (socket !== this.socket) return;
    if (error instanceof RpcError) {
      this.isStopped = true;
      this.options.memory.handleServerEvent({ type: "refused", reason: error.message });
    }
    this.lost(socket);
  }

  private lost(socket: SocketLike | undefined): void {
    if (!socket || socket !== this.socket) return;
    const rpc = this.rpc;
    this.socket = undefined;
    this.rpc = undefined;
    this.isReady = false;
    this.stopPinging?.();
    socket.onclose = socket.onmessage = socket.onopen = null;
    socket.close();
    rpc?.close();
    if (this.isStopped) return;
    const { memory } = this.options;
    memory.handleServerEvent({ type: "connecting", attempt: this.backoff.attempt });
    this.cancelRetry = this.wait(this.backoff.next(), () => this.connect());
  }

  private async explain(): Promise<void> {
    const reason = await this.options.whyRefused?.();
    if (!reason || this.isReady || this.isStopped) return;
    this.options.memory.handleServerEvent({ type: "refused", reason });
  }

  private notified(method: string, params: unknown): void {
    const event = eventOf(method, params);
    if (event) this.options.memory.handleServerEvent(event);
    this.options.onNotification?.(method, params);
  }

  private schedulePing(): void {
    this.stopPinging?.();
    this.stopPinging = this.wait(PING_EVERY_MS, () => {
      void this.ping();
      if (this.isReady) this.schedulePing();
    });
  }

  private async ping(): Promise<void> {
    const { socket, rpc } = this;
    if (!rpc) return;
    const giveUp = this.wait(PING_TIMEOUT_MS, () => this.lost(socket));
    await rpc.request("ping", { channel: ROOT }).catch(() => undefined);
    giveUp();
  }
}

function eventOf(method: string, params: unknown): ServerEvent | undefined {
  switch (method) {
    case "action":
      return { type: "action", envelope: params as ActionEnvelope };
    case "root/sessionAdded":
      return { type: "sessionAdded", ...(params as { summary: SessionSummary }) };
    case "root/sessionRemoved":
      return { type: "sessionRemoved", ...(params as { session: URI }) };
    case "root/sessionSummaryChanged": {
      const { session, changes } = params as { session: URI; changes: Partial<SessionSummary> };
      return { type: "sessionSummaryChanged", session, changes };
    }
    case "root/progress":
      return { ...(params as Omit<Extract<ServerEvent, { type: "progress" }>, "type">), type: "progress" };
    case "auth/required":
      return { type: "authRequired", ...(params as { resource: ProtectedResource }) };
    default:
      return undefined;
  }
}

function timer(ms: number, run: () => void): () => void {
  const handle = setTimeout(run, ms);
  return () => clearTimeout(handle);
}
