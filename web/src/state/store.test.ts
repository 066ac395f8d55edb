import { describe, expect, test, vi } from "vitest";
import type { ToolCallAction } from "../protocol/types";
import { AppStore } from "./store";
import { CHAT, emptyChat, message, part, SESSION, started, storeWithChat, summary } from "./testing";

describe("the timeline", () => {
  test("a streamed answer grows in one entry", () => {
    const { store, say } = storeWithChat();
    say(started("t"));
    say(part("t", "p"));
    for (const content of ["Hel", "lo"]) say({ type: "chat/delta", turnId: "t", partId: "p", content });
    store.flush();
    const { messages, streaming } = store.getState();
    expect(streaming).toBe(true);
    expect(messages.map(({ kind, text }) => [kind, text])).toEqual([
      ["user", "hi"],
      ["assistant", "Hello"],
    ]);
  });

  test("entries that did not change keep their identity", () => {
    const { store, say } = storeWithChat();
    say(started("t"));
    say(part("t", "p"));
    say(part("t", "q"));
    store.flush();
    const before = store.getState().messages;
    say({ type: "chat/delta", turnId: "t", partId: "q", content: "x" });
    store.flush();
    const after = store.getState().messages;
    expect(after[1]).toBe(before[1]);
    expect(after[2]).not.toBe(before[2]);
  });

  test("a restored history looks exactly like a live one", () => {
    const { store, say } = storeWithChat();
    say(started("t"));
    say({ type: "chat/responsePart", turnId: "t", part: { kind: "reasoning", id: "r", content: "why" } });
    say(part("t", "p"));
    say({ type: "chat/delta", turnId: "t", partId: "p", content: "because" });
    say({ type: "chat/usage", turnId: "t", usage: { inputTokens: 3, outputTokens: 4 } });
    say({ type: "chat/turnComplete", turnId: "t", duration: 12 });
    store.flush();
    const live = store.getState();
    const stored = JSON.parse(JSON.stringify(live.chat)) as ReturnType<typeof emptyChat>;
    expect(store.loadMessagesFromHistory(stored)).toEqual(live.messages);
    expect(live.streaming).toBe(false);
    expect(live.contextUsage).toMatchObject({ used: 7 });
  });

  test("a tool step goes through its phases", () => {
    const { store, say } = storeWithChat();
    const phases: string[] = [];
    const step = (action: ToolCallAction) => {
      say(action);
      store.flush();
      phases.push(store.getState().messages.at(-1)?.toolStep?.phase ?? "");
    };
    const of = { turnId: "t", toolCallId: "c" };
    say(started("t"));
    step({ type: "chat/toolCallStart", ...of, toolName: "run", displayName: "Run" });
    step({ type: "chat/toolCallReady", ...of, invocationMessage: "Run it", toolInput: '{"a":1}' });
    step({ type: "chat/toolCallConfirmed", ...of, approved: true });
    step({ type: "chat/toolCallContentChanged", ...of, content: [{ type: "text", text: "out" }] });
    step({
      type: "chat/toolCallComplete",
      ...of,
      result: { success: true, pastTenseMessage: "Ran it", content: [{ type: "text", text: "done" }] },
      requiresResultConfirmation: true,
    });
    step({ type: "chat/toolCallResultConfirmed", ...of, approved: true });
    expect(phases).toEqual(["calling", "confirm", "running", "running", "confirm-result", "done"]);
    expect(store.getState().messages.at(-1)).toMatchObject({
      kind: "tool",
      text: "Ran it",
      toolStep: { toolName: "run", toolArgs: '{"a":1}', result: "done" },
    });
  });

  test("a shell command and its outcome are one entry", () => {
    const store = new AppStore({ clientId: "me", schedule: () => {} });
    const hello = { protocolVersion: "1.0.0", serverSeq: 1, snapshots: [], terminalCommandPrefix: "!" };
    store.handleServerEvent({ type: "connected", hello });
    const toolCall = {
      status: "completed" as const,
      toolCallId: "c",
      toolName: "shell",
      displayName: "Shell",
      invocationMessage: "ls",
      confirmed: "not-needed" as const,
      success: true,
      pastTenseMessage: "ls",
      content: [{ type: "terminal" as const, resource: "x", title: "ls", result: { exitCode: 0, preview: "a\nb" } }],
    };
    const turn = { id: "t", message: message("!ls"), responseParts: [{ kind: "toolCall" as const, toolCall }], state: "complete" as const };
    const [entry, ...more] = store.loadMessagesFromHistory({ ...emptyChat(), turns: [turn] });
    expect(more).toEqual([]);
    expect(entry).toMatchObject({ kind: "bash", bashResult: { command: "ls", output: "a\nb", exitCode: 0 } });
  });
});

describe("scheduled messages", () => {
  test("they wait beside the timeline until a turn weaves them in", () => {
    const { store, say } = storeWithChat();
    say(started("t"));
    store.dispatch(CHAT, { type: "chat/pendingMessageSet", kind: "queued", id: "q", message: message("next") });
    store.flush();
    expect(store.getState().scheduledMessages).toMatchObject([{ id: "q", text: "next", scheduled: "queued" }]);
    say({ type: "chat/turnComplete", turnId: "t", duration: 1 });
    say({ ...started("u", "next"), queuedMessageId: "q" } as never);
    say({ type: "chat/pendingMessageSet", kind: "queued", id: "q", message: message("next") }, { clientId: "me", clientSeq: 1 }, "late");
    store.flush();
    expect(store.getState().scheduledMessages).toEqual([]);
    expect(store.getState().messages.map(({ text }) => text)).toEqual(["hi", "next"]);
  });

  describe("steering whose turn is over when the host hears it", () => {
    function steered(words: string[]) {
      const { store, sent, say } = storeWithChat();
      say(started("t"));
      for (const text of words) store.say(CHAT, text, message(text), "steer", "");
      say({ type: "chat/turnComplete", turnId: "t", duration: 1 });
      const steering = sent.splice(0);
      const echo = () => {
        for (const { action, clientSeq } of steering) say(action, { clientId: "me", clientSeq });
        store.flush();
      };
      return { store, sent, echo };
    }

    test("follows as the next message, once and with all that it joined", () => {
      const { store, sent, echo } = steered(["one", "two"]);
      store.handleServerEvent({ type: "connected" });
      echo();
      expect(sent.map(({ action }) => action)).toMatchObject([
        { type: "chat/pendingMessageRemoved", kind: "steering", id: "two" },
        { type: "chat/pendingMessageSet", kind: "queued", id: "two-next", message: { text: "one\n\ntwo" } },
      ]);
      expect(store.getState().scheduledMessages).toMatchObject([{ scheduled: "queued", text: "one\n\ntwo" }]);
      expect(store.getState().notices).toEqual([]);
    });

    test("stays where it is if that is only replayed", () => {
      const { sent, echo } = steered(["one"]);
      echo();
      expect(sent).toEqual([]);
    });
  });

  test("clearing gives them back and tells the host", () => {
    const { store, sent, say } = storeWithChat();
    say(started("t"));
    store.dispatch(CHAT, { type: "chat/pendingMessageSet", kind: "steering", id: "s", message: message("left") });
    store.dispatch(CHAT, { type: "chat/pendingMessageSet", kind: "queued", id: "q", message: message("right") });
    expect(store.clearScheduledMessages().map(({ text }) => text)).toEqual(["left", "right"]);
    store.flush();
    expect(store.getState().scheduledMessages).toEqual([]);
    expect(sent.slice(2).map(({ action }) => action)).toEqual([
      { type: "chat/pendingMessageRemoved", kind: "steering", id: "s" },
      { type: "chat/pendingMessageRemoved", kind: "queued", id: "q" },
    ]);
  });
});

describe("publishing", () => {
  test("many events are one notification", () => {
    const flushes: (() => void)[] = [];
    const store = new AppStore({ clientId: "me", schedule: (flush) => flushes.push(flush) });
    const listener = vi.fn();
    store.subscribe(listener);
    for (let n = 0; n < 100; n++) store.handleServerEvent({ type: "connecting", attempt: n });
    for (const flush of flushes) flush();
    expect(listener).toHaveBeenCalledTimes(1);
  });

  test("what the user does shows at once", () => {
    const { store } = storeWithChat();
    store.dispatch(CHAT, started("t"));
    expect(store.getState().messages.map(({ text }) => text)).toEqual(["hi"]);
  });

  test("a rejection is shown with its reason, and the action undone", () => {
    const { store, say } = storeWithChat();
    store.dispatch(CHAT, started("t"));
    store.flush();
    expect(store.getState().messages).toHaveLength(1);
    say(started("t"), { clientId: "me", clientSeq: 1 }, "the host is shutting down");
    store.flush();
    expect(store.getState().messages).toEqual([]);
    expect(store.getState().notices).toMatchObject([{ tone: "error", text: "the host is shutting down" }]);
  });

  test("a turn that arrived although its echo was lost is not an error, says the code of the rejection", () => {
    const { store, say } = storeWithChat();
    store.dispatch(CHAT, started("t"));
    say(started("t"), { clientId: "me", clientSeq: 1 }, "diesen Zug gibt es schon", "turnExists");
    store.flush();
    expect(store.getState().notices).toEqual([]);
  });

  test.each(["the turn that runs", "a turn that is over"])("a rejected turn that the chat holds is not an error, whatever the words and without a code (%s)", (which) => {
    const { store, say } = storeWithChat();
    store.dispatch(CHAT, started("t"));
    say(started("t"), { clientId: "me", clientSeq: 1 });
    if (which === "a turn that is over") say({ type: "chat/turnComplete", turnId: "t", duration: 1 });
    say(started("t"), { clientId: "me", clientSeq: 1 }, "no");
    store.flush();
    expect(store.getState().notices).toEqual([]);
    expect(store.getState().messages).toHaveLength(1);
  });

  test.each([undefined, "somethingElse"])("a rejected turn that the chat does not hold is an error, whatever the words (code %s)", (code) => {
    const { store, say } = storeWithChat();
    store.dispatch(CHAT, started("t"));
    say(started("t"), { clientId: "me", clientSeq: 1 }, "the branch exists already", code);
    store.flush();
    expect(store.getState().notices).toMatchObject([{ tone: "error", text: "the branch exists already" }]);
  });

  test("whoever was refused stays refused until the host lets them in", () => {
    const { store } = storeWithChat();
    const phase = () => {
      store.flush();
      return store.getState().connection.phase;
    };
    store.handleServerEvent({ type: "refused", reason: "no token" });
    store.handleServerEvent({ type: "connecting", attempt: 2 });
    expect(phase()).toBe("refused");
    store.handleServerEvent({ type: "connected" });
    expect(phase()).toBe("connected");
    store.handleServerEvent({ type: "connecting", attempt: 0 });
    expect(phase()).toBe("reconnecting");
  });
});

describe("the catalogue", () => {
  const store = () => new AppStore({ clientId: "me", schedule: () => {} });
  const list = (known: AppStore) => {
    known.flush();
    return known.getState().sessions.map(({ title }) => title);
  };

  test("sessions that need somebody come first, then failed, working, unread, idle", () => {
    const known = store();
    const statuses = { idle: 33, failed: 2, working: 8, unread: 1, needs: 24 };
    const items = Object.entries(statuses).map(([title, status]) => summary({ title, status, resource: title }));
    known.handleServerEvent({ type: "sessions", items, first: true, last: true });
    expect(list(known)).toEqual(["needs", "failed", "working", "unread", "idle"]);
  });

  test("a new listing drops what is gone, not what came meanwhile", () => {
    const known = store();
    known.handleServerEvent({ type: "sessions", items: [summary({ title: "old", resource: "old" })], first: true, last: true });
    known.handleServerEvent({ type: "sessions", items: [summary({ title: "kept", resource: "kept" })], first: true, last: false });
    known.handleServerEvent({ type: "sessionAdded", summary: summary({ title: "new", resource: "new" }) });
    known.handleServerEvent({ type: "sessions", items: [], first: false, last: true });
    expect(list(known).sort()).toEqual(["kept", "new"]);
  });

  test("an own rename shows at once and is taken back on rejection", () => {
    const known = store();
    known.handleServerEvent({ type: "sessions", items: [summary()], first: true, last: true });
    const action = { type: "session/titleChanged" as const, title: "Mine" };
    known.dispatch(SESSION, action);
    expect(list(known)).toEqual(["Mine"]);
    const origin = { clientId: "me", clientSeq: 1 };
    known.handleServerEvent({ type: "action", envelope: { channel: SESSION, action, serverSeq: 1, origin, rejectionReason: "no" } });
    expect(list(known)).toEqual(["A session"]);
  });

  test("a session that is being deleted is hidden until that is undone", () => {
    const known = store();
    known.handleServerEvent({ type: "sessions", items: [summary()], first: true, last: true });
    known.hideSession(SESSION, true);
    expect(list(known)).toEqual([]);
    known.hideSession(SESSION, false);
    expect(list(known)).toEqual(["A session"]);
  });
});

describe("a session that the host is starting", () => {
  const begun = { type: "progress", progressToken: SESSION, progress: 0, message: "Starting Claude Code…" } as const;
  const startingIn = (store: AppStore) => {
    store.flush();
    return [...store.getState().starting];
  };

  test("has the host's words until it is started", () => {
    const { store } = storeWithChat();
    store.handleServerEvent(begun);
    expect(startingIn(store)).toEqual([[SESSION, "Starting Claude Code…"]]);
    store.handleServerEvent({ type: "progress", progressToken: "another", progress: 1, total: 1 });
    expect(startingIn(store)).toHaveLength(1);
    store.handleServerEvent({ type: "progress", progressToken: SESSION, progress: 1, total: 1 });
    expect(startingIn(store)).toEqual([]);
  });

  test("has none when the connection that was told is lost", () => {
    const { store } = storeWithChat();
    store.handleServerEvent(begun);
    store.handleServerEvent({ type: "connecting", attempt: 1 });
    expect(startingIn(store)).toEqual([]);
  });
});
