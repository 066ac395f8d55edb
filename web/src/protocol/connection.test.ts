import { describe, expect, test } from "vitest";
import { AppStore } from "../state/store";
import { CHAT, emptyChat, SESSION, started } from "../state/testing";
import { Connection } from "./connection";
import type { SocketLike } from "./connection";
import type { StateAction } from "./types";

interface Sent {
  id?: number;
  method: string;
  params: Record<string, never>;
}

/** A socket whose other end is the test. */
class FakeSocket implements SocketLike {
  onopen: ((event: never) => void) | null = null;
  onclose: ((event: { code?: number }) => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  sent: Sent[] = [];
  isClosed = false;

  send(text: string): void {
    this.sent.push(JSON.parse(text) as Sent);
  }

  close(): void {
    this.isClosed = true;
  }

  last(method: string): Sent {
    const found = this.sent.findLast((message) => message.method === method);
    if (!found) throw new Error(`no ${method} was sent`);
    return found;
  }

  answer(method: string, result: unknown): Promise<void> {
    this.onmessage?.({ data: JSON.stringify({ jsonrpc: "2.0", id: this.last(method).id, result }) });
    return settled();
  }

  push(method: string, params: unknown): void {
    this.onmessage?.({ data: JSON.stringify({ jsonrpc: "2.0", method, params }) });
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

const hello = { protocolVersion: "1.0.0", serverSeq: 5, snapshots: [{ resource: CHAT, state: emptyChat(), fromSeq: 5 }] };

async function connected() {
  const store = new AppStore({ clientId: "me", schedule: () => {} });
  const sockets: FakeSocket[] = [];
  const timers: (() => void)[] = [];
  const readies: boolean[] = [];
  const connection = new Connection({
    memory: store,
    open: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket;
    },
    clientInfo: { name: "test", version: "0" },
    onReady: (isFirst) => readies.push(isFirst),
    wait: (_, run) => {
      timers.push(run);
      return () => timers.splice(timers.indexOf(run), 1);
    },
  });
  store.connectTo((own) => connection.sendAction(own));
  connection.start();
  sockets[0]?.onopen?.(undefined as never);
  await sockets[0]?.answer("initialize", hello);
  store.select(SESSION, CHAT);
  /** Waits out the pause, and lets the next socket open. */
  const comeBack = async (): Promise<FakeSocket> => {
    timers.splice(0).forEach((run) => run());
    const socket = sockets.at(-1) as FakeSocket;
    socket.onopen?.(undefined as never);
    await settled();
    return socket;
  };
  return { store, connection, sockets, readies, comeBack };
}

const action = (serverSeq: number, what: StateAction, clientSeq?: number) => ({
  channel: CHAT,
  action: what,
  serverSeq,
  ...(clientSeq === undefined ? {} : { origin: { clientId: "me", clientSeq } }),
});

describe("a lost connection", () => {
  test("comes back with what was seen and replays what was missed", async () => {
    const { store, sockets, readies, comeBack } = await connected();
    sockets[0]?.push("action", action(6, started("t")));
    sockets[0]?.onclose?.({});
    store.flush();
    expect(store.getState().connection.phase).toBe("reconnecting");
    const socket = await comeBack();
    expect(socket.last("reconnect").params).toMatchObject({ lastSeenServerSeq: 6, subscriptions: [CHAT], clientId: "me" });
    const missed = [action(7, { type: "chat/turnComplete", turnId: "t", duration: 3 })];
    await socket.answer("reconnect", { type: "replay", actions: missed, missing: [] });
    store.flush();
    expect(store.getState().connected).toBe(true);
    expect(store.getState().messages[0]).toMatchObject({ turn: { state: "complete" } });
    expect(readies).toEqual([true, false]);
  });

  test("an action whose echo is in the replay is not sent again", async () => {
    const { store, sockets, comeBack } = await connected();
    store.dispatch(CHAT, started("t"));
    sockets[0]?.onclose?.({});
    const socket = await comeBack();
    await socket.answer("reconnect", { type: "replay", actions: [action(6, started("t"), 1)], missing: [] });
    expect(socket.sent.filter(({ method }) => method === "dispatchAction")).toEqual([]);
    expect(store.unconfirmed()).toEqual([]);
  });

  test("what the host found too large is not sent again, and its words come back", async () => {
    const { store, sockets, comeBack } = await connected();
    store.say(CHAT, "t", { text: "far too long", origin: { kind: "user" } }, "send", "2026-01-01T00:00:00.000Z");
    sockets[0]?.onclose?.({ code: 1009 });
    const socket = await comeBack();
    await socket.answer("reconnect", { type: "replay", actions: [], missing: [] });
    expect(socket.sent.filter(({ method }) => method === "dispatchAction")).toEqual([]);
    store.flush();
    expect(store.getState().drafts.get(CHAT)?.words.text).toBe("far too long");
  });

  test("an action that did not arrive is sent again, with the same number", async () => {
    const { store, sockets, comeBack } = await connected();
    store.dispatch(CHAT, started("t"));
    sockets[0]?.onclose?.({});
    store.dispatch(CHAT, { type: "chat/draftChanged" });
    const socket = await comeBack();
    await socket.answer("reconnect", { type: "replay", actions: [], missing: [] });
    const again = socket.sent.filter(({ method }) => method === "dispatchAction");
    expect(again.map(({ params }) => params["clientSeq"])).toEqual([1, 2]);
  });

  test("fresh snapshots replace the state, and channels that are gone are closed", async () => {
    const { store, sockets, comeBack } = await connected();
    sockets[0]?.onclose?.({});
    const socket = await comeBack();
    await socket.answer("reconnect", { type: "snapshot", snapshots: [] });
    expect(store.has(CHAT)).toBe(false);
  });

  test("a host that knows nothing of us is greeted anew", async () => {
    const { store, sockets, comeBack } = await connected();
    sockets[0]?.onclose?.({});
    const socket = await comeBack();
    const { id } = socket.last("reconnect");
    socket.onmessage?.({ data: JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32600, message: "who are you?" } }) });
    await settled();
    expect(socket.last("initialize").params["initialSubscriptions"]).toEqual(["ahp-root://", CHAT]);
    await socket.answer("initialize", hello);
    store.flush();
    expect(store.getState().connected).toBe(true);
  });

  test("a request that must not get lost is asked again", async () => {
    const { connection, sockets, comeBack } = await connected();
    const answer = connection.persist("createSession", { channel: SESSION });
    await settled();
    expect(sockets[0]?.last("createSession")).toBeDefined();
    sockets[0]?.onclose?.({});
    const socket = await comeBack();
    await socket.answer("reconnect", { type: "replay", actions: [], missing: [] });
    await socket.answer("createSession", { fine: true });
    expect(await answer).toEqual({ fine: true });
  });
});

test("what the host says about a session that it starts is heard", async () => {
  const { store, sockets } = await connected();
  sockets[0]?.push("root/progress", { channel: "ahp-root://", progressToken: SESSION, progress: 0, message: "Starting…" });
  await settled();
  store.flush();
  expect(store.getState().starting.get(SESSION)).toBe("Starting…");
});

test("a version that the host does not speak is said, not retried", async () => {
  const store = new AppStore({ clientId: "me", schedule: () => {} });
  const socket = new FakeSocket();
  const waits: unknown[] = [];
  const connection = new Connection({
    memory: store,
    open: () => socket,
    clientInfo: { name: "test", version: "0" },
    onReady: () => {},
    wait: (ms) => {
      waits.push(ms);
      return () => {};
    },
  });
  connection.start();
  socket.onopen?.(undefined as never);
  const error = { code: -32005, message: "this host speaks 2.0.0" };
  socket.onmessage?.({ data: JSON.stringify({ jsonrpc: "2.0", id: 1, error }) });
  await settled();
  store.flush();
  expect(store.getState().connection).toMatchObject({ phase: "refused", reason: "this host speaks 2.0.0" });
  expect(waits).toEqual([]);
});
