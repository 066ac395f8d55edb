import { describe, expect, test } from "vitest";
import type { ChatAction, Message, MessageAttachment } from "../protocol/types";
import type { Draft } from "./drafts";
import type { Spoken } from "./spoken";
import { idsOf } from "./steering";
import { AppStore } from "./store";
import { CHAT, emptyChat, message, part, SESSION, started, storeWithChat } from "./testing";
import type { Words } from "./words";

const AT = "2026-01-01T00:00:00.000Z";
const picture: MessageAttachment = { type: "embeddedResource", label: "dot.png", contentType: "image/png", data: "AAAA" };
const ME = (clientSeq: number) => ({ clientId: "me", clientSeq });
const OTHER = { clientId: "other", clientSeq: 1 };

function chatInStore(chat = emptyChat()) {
  const { store, sent, say } = storeWithChat(chat);
  const type = (text: string, attachments: MessageAttachment[] = []) => store.write(CHAT, () => ({ text, attachments }));
  const editor = (): Words | undefined => store.getState().drafts.get(CHAT)?.words;
  const note = () => store.getState().drafts.get(CHAT)?.note;
  const send = (id: string, text: string, manner: "send" | "steer" | "queue", attachments?: MessageAttachment[]) => {
    type(text, attachments);
    const said: Message = { ...message(text), ...(attachments ? { attachments } : {}) };
    store.say(CHAT, id, said, manner, AT);
    return sent.at(-1)?.action.type === "chat/draftChanged" ? sent.at(-2) : sent.at(-1);
  };
  const echo = (own: { clientSeq: number; action: unknown } | undefined, reason?: string, code?: string) => {
    say(own?.action as ChatAction, ME(own?.clientSeq ?? 0), reason, code);
    store.flush();
  };
  const scheduled = () => store.getState().scheduledMessages.map(({ text }) => text);
  return { store, sent, say, type, editor, note, send, echo, scheduled };
}

const steer = (id: string, text: string, meta?: Message["_meta"]): ChatAction => ({
  type: "chat/pendingMessageSet",
  kind: "steering",
  id,
  message: { ...message(text), ...(meta ? { _meta: meta } : {}) },
});

describe("a message that was refused", () => {
  test.each(["send", "steer", "queue"] as const)("comes back to the editor with the reason (%s)", (manner) => {
    const { send, echo, editor, note } = chatInStore();
    const own = send("m", "dear agent", manner, [picture]);
    expect(editor()).toEqual({ text: "", attachments: [] });
    echo(own, "the session is still being created");
    expect(editor()).toEqual({ text: "dear agent", attachments: [picture] });
    expect(note()).toBe("Not sent: the session is still being created");
  });

  test("comes before what is being typed, and overwrites nothing", () => {
    const { send, echo, editor, type } = chatInStore();
    const own = send("m", "first", "send");
    type("second");
    echo(own, "no");
    expect(editor()?.text).toBe("first\n\nsecond");
  });

  test("several come back in the order in which they were said", () => {
    const { send, echo, editor } = chatInStore();
    const first = send("a", "one", "queue");
    const second = send("b", "two", "queue");
    echo(second, "no");
    echo(first, "no");
    expect(editor()?.text).toBe("one\n\ntwo");
  });

  test("comes back to its own chat, also when another one is open", () => {
    const { store, send, echo } = chatInStore();
    const own = send("m", "for the first chat", "send");
    store.select(SESSION, "ahp-chat:/other");
    store.flush();
    echo(own, "no");
    expect(store.getState().drafts.get(CHAT)?.words.text).toBe("for the first chat");
    expect(store.getState().notices).toMatchObject([{ tone: "error" }]);
  });

  test("words of a denial come back too, into the editor", () => {
    const { store, echo, editor, sent } = chatInStore();
    const action = { type: "chat/toolCallConfirmed" as const, turnId: "t", toolCallId: "c", approved: false };
    store.decide(CHAT, action, { text: "use the other one", attachments: [] });
    echo(sent.at(-1), "it was decided already");
    expect(editor()?.text).toBe("use the other one");
  });

  test("a turn that had arrived the first time does not come back", () => {
    const { send, echo, editor } = chatInStore();
    echo(send("t", "once", "send"), "diesen Zug gibt es schon", "turnExists");
    expect(editor()?.text).toBe("");
  });

  test("a turn that the chat holds does not come back, also from a host that gives no code", () => {
    const { send, echo, editor } = chatInStore();
    const own = send("t", "once", "send");
    echo(own);
    echo(own, "no");
    expect(editor()?.text).toBe("");
  });

  test("a turn that the chat does not hold comes back, whatever the words of the reason", () => {
    const { send, echo, editor } = chatInStore();
    echo(send("t", "once", "send"), "the branch exists already");
    expect(editor()?.text).toBe("once");
  });

  test("one that the host closes the door to is not sent for ever", () => {
    const { store, send, editor, note } = chatInStore();
    send("m", "x".repeat(1000), "send");
    store.handleServerEvent({ type: "tooLarge" });
    store.flush();
    expect(store.unconfirmed().filter(({ action }) => action.type === "chat/turnStarted")).toEqual([]);
    expect(editor()?.text).toBe("x".repeat(1000));
    expect(note()).toMatch(/larger than this host accepts/);
  });

  test("one that is too large is not sent at all", () => {
    const { sent, send, editor, note } = chatInStore();
    send("m", "x".repeat(13 * 1024 * 1024), "send");
    expect(sent).toEqual([]);
    expect(editor()?.text).toHaveLength(13 * 1024 * 1024);
    expect(note()).toMatch(/8 MB/);
  });

  test("a chat that goes away leaves what was on its way in its editor", () => {
    const { store, send, editor } = chatInStore();
    send("m", "into the void", "send");
    store.handleServerEvent({ type: "channelGone", channel: CHAT });
    store.flush();
    expect(editor()?.text).toBe("into the void");
  });
});

describe("steering", () => {
  const running = () => ({ ...emptyChat(), status: 8, activeTurn: { id: "t", startedAt: AT, message: message("go"), responseParts: [] } });

  test("joins what waits already, attachments and all", () => {
    const { send, echo, scheduled, sent } = chatInStore(running());
    echo(send("a", "left", "steer", [picture]));
    echo(send("b", "then right", "steer"));
    send("c", "then stop", "steer");
    expect(scheduled()).toEqual(["left\n\nthen right\n\nthen stop"]);
    const { action } = sent.at(-1) as { action: { message: Message } };
    expect(action.message.attachments).toEqual([picture]);
    expect(idsOf(action.message)).toEqual(["a", "b", "c"]);
  });

  test("comes back when another client replaces it", () => {
    const { send, echo, say, store, editor, note, scheduled } = chatInStore(running());
    echo(send("a", "ours", "steer", [picture]));
    say(steer("z", "theirs"), OTHER);
    store.flush();
    expect(scheduled()).toEqual(["theirs"]);
    expect(editor()).toEqual({ text: "ours", attachments: [picture] });
    expect(note()).toMatch(/Another client/);
  });

  test("stays where another client joined it, with our mark or without", () => {
    const { send, echo, say, store, editor } = chatInStore(running());
    echo(send("a", "ours", "steer"));
    say(steer("y", "ours\n\ntheirs"), OTHER);
    say(steer("z", "OURS, theirs and more", { "innkeeper.joinedIds": ["a", "y"] }), OTHER);
    store.flush();
    expect(editor()?.text).toBe("");
  });

  test("of two who join at once, the words that were left out come back", () => {
    const { send, echo, say, store, editor } = chatInStore(running());
    echo(send("a", "both know this", "steer"));
    const second = send("b", "only we know this", "steer");
    echo(second);
    say(steer("z", "both know this\n\ntheirs", { "innkeeper.joinedIds": ["a"], "innkeeper.messageId": "z" }), OTHER);
    store.flush();
    expect(editor()?.text).toBe("only we know this");
  });

  test("what is on its way over a foreign message stays on its way", () => {
    const { send, echo, say, store, editor, scheduled } = chatInStore(running());
    echo(send("a", "ours", "steer"));
    const second = send("b", "more", "steer");
    say(steer("z", "theirs"), OTHER);
    store.flush();
    expect(editor()?.text).toBe("");
    expect(scheduled()).toEqual(["ours\n\nmore"]);
    echo(second);
    expect(editor()?.text).toBe("");
  });

  test("one that was refused while a later one holds its words is not doubled", () => {
    const { send, echo, editor, scheduled } = chatInStore(running());
    const first = send("a", "one", "steer");
    const second = send("b", "two", "steer");
    echo(first, "no");
    expect(editor()?.text).toBe("");
    echo(second);
    expect(scheduled()).toEqual(["one\n\ntwo"]);
  });

  test("taken up by the agent, it stands in the turn as the user's words and does not come back", () => {
    const { send, echo, say, store, editor, scheduled } = chatInStore(running());
    echo(send("a", "go left", "steer", [picture]));
    const _meta = { innkeeper: { steering: { id: "a", message: { ...message("go left"), attachments: [picture] } } } };
    say({ type: "chat/responsePart", turnId: "t", part: { kind: "systemNotification", content: "go left", _meta } });
    store.flush();
    expect(scheduled()).toEqual(["go left"]);
    say({ type: "chat/pendingMessageRemoved", kind: "steering", id: "a" });
    say(steer("z", "theirs"), OTHER);
    store.flush();
    expect(editor()?.text).toBe("");
    expect(store.getState().messages).toMatchObject([
      { kind: "user", text: "go" },
      { kind: "user", text: "go left", steeringId: "a", images: [{ label: "dot.png" }], turnId: "t" },
    ]);
    expect(store.getState().messages[1]?.turn).toBeUndefined();
  });

  test("a part without the message says it in its own words", () => {
    const { say, store } = chatInStore(running());
    const _meta = { innkeeper: { steering: { id: "a" } } };
    say({ type: "chat/responsePart", turnId: "t", part: { kind: "systemNotification", content: "go left", _meta } });
    say({ type: "chat/responsePart", turnId: "t", part: { kind: "systemNotification", content: "just a note" } });
    store.flush();
    expect(store.getState().messages.slice(1)).toMatchObject([
      { kind: "user", text: "go left" },
      { kind: "system", text: "just a note" },
    ]);
  });

  test("a snapshot whose part has the text only settles what was joined into it", () => {
    const { store, send, echo, editor } = chatInStore(running());
    echo(send("a", "left", "steer"));
    echo(send("b", "right", "steer"));
    const steering = { kind: "systemNotification" as const, content: "left\n\nright", _meta: { innkeeper: { steering: { id: "b" } } } };
    const state = { ...running(), activeTurn: { ...running().activeTurn, responseParts: [steering] } };
    store.handleServerEvent({ type: "snapshot", snapshot: { resource: CHAT, state, fromSeq: 50 } });
    store.flush();
    expect(editor()?.text).toBe("");
  });

  test("a snapshot after a loss settles what it holds and gives back what it does not", () => {
    const { store, send, echo, editor } = chatInStore(running());
    echo(send("a", "was taken up", "steer"));
    send("b", "never arrived", "queue");
    const steering = { kind: "systemNotification" as const, content: "was taken up", _meta: { innkeeper: { steering: { id: "a" } } } };
    const state = { ...running(), activeTurn: { ...running().activeTurn, responseParts: [steering] } };
    store.handleServerEvent({ type: "snapshot", snapshot: { resource: CHAT, state, fromSeq: 50 } });
    store.flush();
    expect(editor()?.text).toBe("");
    expect(store.unconfirmed().map(({ action }) => action.type)).toContain("chat/pendingMessageSet");
  });
});

describe("what is restored", () => {
  test("to the editor keeps its pictures, those too that the host took in", () => {
    const { store, send, echo, say, editor } = chatInStore();
    say(started("t"));
    const own = send("q", "with a picture", "queue", [picture]);
    const kept: MessageAttachment = { type: "resource", label: "dot.png", uri: "innkeeper-content:/1" };
    const action = { ...(own?.action as object), message: { ...message("with a picture"), attachments: [kept] } };
    echo({ clientSeq: own?.clientSeq ?? 0, action });
    store.clearScheduledMessages();
    expect(editor()).toEqual({ text: "with a picture", attachments: [picture] });
  });

  test("from a page that died before the host answered comes back, unless it arrived", () => {
    const arrived: Spoken = { id: "a", chat: CHAT, manner: "send", words: { text: "arrived", attachments: [] }, isConfirmed: false };
    const lost: Spoken = { ...arrived, id: "b", words: { text: "lost", attachments: [picture] } };
    const store = new AppStore({ clientId: "me", schedule: () => {} });
    store.restoreWords([], [arrived, lost]);
    const turn = { id: "a", message: message("arrived"), responseParts: [], state: "complete" as const };
    store.handleServerEvent({ type: "snapshot", snapshot: { resource: CHAT, state: { ...emptyChat(), turns: [turn] }, fromSeq: 1 } });
    store.flush();
    expect(store.getState().drafts.get(CHAT)?.words).toEqual(lost.words);
  });
});

test("pictures of the same name are all kept, joined and restored", () => {
  const named = (data: string): MessageAttachment => ({ type: "embeddedResource", label: "image.png", contentType: "image/png", data });
  const kept = (uri: string): MessageAttachment => ({ type: "resource", label: "image.png", uri });
  const { store, send, echo, editor, sent } = chatInStore({ ...emptyChat(), status: 8, activeTurn: { id: "t", startedAt: AT, message: message("go"), responseParts: [] } });
  const first = send("a", "one", "steer", [named("1")]);
  echo({ clientSeq: first?.clientSeq ?? 0, action: { ...(first?.action as object), message: { ...message("one"), attachments: [kept("x:1")], _meta: { "innkeeper.messageId": "a" } } } });
  send("b", "two", "steer", [named("2")]);
  const { action } = sent.at(-1) as { action: { message: Message } };
  expect(action.message.attachments).toEqual([kept("x:1"), named("2")]);
  store.clearScheduledMessages();
  expect(editor()).toEqual({ text: "one\n\ntwo", attachments: [named("1"), named("2")] });
});

describe("the draft", () => {
  const hostHas = (text: string | undefined): ChatAction => ({ type: "chat/draftChanged", draft: text === undefined ? undefined : message(text) });

  test("of another client comes into an editor in which nobody wrote", () => {
    const { say, store, editor } = chatInStore();
    say(hostHas("from the phone"), OTHER);
    store.flush();
    expect(editor()?.text).toBe("from the phone");
    say(hostHas(undefined), OTHER);
    store.flush();
    expect(editor()?.text).toBe("");
  });

  test("of another client leaves alone what is being written here", () => {
    const { say, store, editor, type } = chatInStore();
    type("mine");
    say(hostHas("theirs"), OTHER);
    store.flush();
    expect(editor()?.text).toBe("mine");
  });

  test("that goes on where this one ended is taken", () => {
    const { say, store, editor, type } = chatInStore();
    type("half");
    say(hostHas("half and half"), OTHER);
    store.flush();
    expect(editor()?.text).toBe("half and half");
  });

  test("that was sent from elsewhere leaves this editor too", () => {
    const { say, store, editor, type } = chatInStore();
    type("half");
    say(hostHas("half"), ME(1));
    say(started("t", "half and half"), OTHER);
    say(hostHas(undefined), OTHER);
    store.flush();
    expect(editor()?.text).toBe("");
  });

  test("that says again what was said before stays while somebody writes elsewhere", () => {
    const { say, store, editor, type } = chatInStore();
    say(started("t", "yes please"), OTHER);
    type("yes");
    say(hostHas("something else"), OTHER);
    store.flush();
    expect(editor()?.text).toBe("yes");
  });

  const restored = (text: string, shared = ""): Draft => ({
    words: { text, attachments: [] },
    isOwn: true,
    isRestored: true,
    shared: { text: shared, attachments: [] },
  });

  test.each([
    ["the browser is newer", restored("hello world", "hello"), "hello", "hello world"],
    ["the browser emptied it", restored("", "hello"), "hello", ""],
    ["the host is newer", restored("hello", "hello"), "hello world", "hello world"],
    ["both have other words", restored("mine", "old"), "theirs", "theirs\n\nmine"],
    ["the host has none any more, and it was not sent", restored("mine", "mine"), undefined, "mine"],
    ["only the browser has one", restored("mine"), undefined, "mine"],
  ])("on return: %s", (_, draft, host, expected) => {
    const store = new AppStore({ clientId: "me", schedule: () => {} });
    store.restoreWords([[CHAT, draft]], []);
    const state = { ...emptyChat(), ...(host === undefined ? {} : { draft: message(host) }) };
    store.handleServerEvent({ type: "snapshot", snapshot: { resource: CHAT, state, fromSeq: 1 } });
    store.flush();
    expect(store.getState().drafts.get(CHAT)?.words.text).toBe(expected);
  });
});

test("answers that stream in cost no audit", () => {
  const { store, say, send } = chatInStore();
  send("t", "hello", "send");
  say(part("t", "p"));
  const before = store.getState().drafts;
  say({ type: "chat/delta", turnId: "t", partId: "p", content: "x" });
  store.flush();
  expect(store.getState().drafts).toBe(before);
});
