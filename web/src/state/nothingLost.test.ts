// Random steps with a host that takes, refuses and forgets: no word is lost.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { ChatAction } from "../protocol/types";
import type { Shelf } from "./book";
import type { Draft } from "./drafts";
import { reduceChat } from "./reducers/chat";
import type { Spoken } from "./spoken";
import { AppStore } from "./store";
import { CHAT, emptyChat, message, SESSION, started } from "./testing";

const AT = "2026-01-01T00:00:00.000Z";
const OTHER = { clientId: "other", clientSeq: 1 };
const steer = (id: string, text: string): ChatAction => ({ type: "chat/pendingMessageSet", kind: "steering", id, message: message(text) });

/** Remembers what a browser would. */
class PaperShelf implements Shelf {
  drafts = new Map<string, Draft>();
  spoken = new Map<string, Spoken>();
  keepDraft(chat: string, draft: Draft | undefined): void {
    if (draft) this.drafts.set(chat, draft);
    else this.drafts.delete(chat);
  }
  keepSpoken(spoken: Spoken): void {
    this.spoken.set(spoken.id, spoken);
  }
  dropSpoken(id: string): void {
    this.spoken.delete(id);
  }
}

test("whatever happens, every word is in an editor, on its way, waiting, or said", () => {
  const step = fc.oneof(
    fc.record({ what: fc.constantFrom("type" as const, "send" as const, "steer" as const, "queue" as const) }),
    fc.record({ what: fc.constantFrom("judge" as const, "refuse" as const, "reload" as const, "restore" as const, "lose" as const) }),
    fc.record({ what: fc.constantFrom("take up" as const, "end turn" as const, "foreign turn" as const, "foreign steering" as const) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const shelf = new PaperShelf();
      const host = new ModelHost();
      const words: string[] = [];
      let client = host.open(shelf);
      for (const { what } of steps) {
        const token = `w${words.length}x`;
        if (what === "type") {
          words.push(token);
          client.store.write(CHAT, (known) => ({ ...known, text: `${known.text} ${token}`.trim() }));
        } else if (what === "send" || what === "steer" || what === "queue") {
          const text = client.store.getState().drafts.get(CHAT)?.words.text ?? "";
          const isRunning = client.store.getState().streaming;
          if (text) client.store.say(CHAT, `id-${host.seq}-${words.length}-${client.sent.length}`, message(text), isRunning ? (what === "queue" ? what : "steer") : "send", AT);
        } else if (what === "judge" || what === "refuse") client.judge(what === "judge");
        else if (what === "restore") client.store.clearScheduledMessages();
        else if (what === "lose") {
          client.sent.length = 0;
          client.snapshot();
          client.sent.push(...client.store.unconfirmed());
        } else if (what === "reload") {
          client = host.open(shelf);
        } else host.happen(what);
        client.store.flush();
        check(host, client, words);
      }
    }),
    { numRuns: 400 },
  );
});

/** A host with one chat that takes what it is told, or refuses it. */
class ModelHost {
  chat = emptyChat();
  seq = 1;
  listeners: ((action: ChatAction, origin?: { clientId: string; clientSeq: number }, reason?: string) => void)[] = [];

  open(shelf: PaperShelf) {
    const left = { drafts: [...shelf.drafts].map(([chat, draft]): [string, Draft] => [chat, { ...draft, isRestored: true }]), spoken: [...shelf.spoken.values()] };
    const store = new AppStore({ clientId: `me-${this.seq}`, schedule: () => {}, shelf });
    const sent: { clientSeq: number; action: unknown }[] = [];
    store.connectTo((own) => sent.push(own));
    store.restoreWords(left.drafts, left.spoken.map((one) => ({ ...one, clientSeq: undefined })));
    const snapshot = () => store.handleServerEvent({ type: "snapshot", snapshot: { resource: CHAT, state: this.chat, fromSeq: this.seq } });
    snapshot();
    store.select(SESSION, CHAT);
    store.flush();
    this.listeners = [(action, origin, rejectionReason) => store.handleServerEvent({ type: "action", envelope: { channel: CHAT, action, serverSeq: this.seq, origin, rejectionReason } })];
    const judge = (accepts: boolean) => {
      const own = sent.shift();
      if (!own) return;
      const action = own.action as ChatAction;
      const isPossible = action.type !== "chat/turnStarted" || !this.chat.activeTurn;
      this.say(action, { clientId: store.clientId, clientSeq: own.clientSeq }, accepts && isPossible);
    };
    return { store, sent, judge, snapshot };
  }

  say(action: ChatAction, origin?: { clientId: string; clientSeq: number }, accepts = true): void {
    if (accepts) {
      this.chat = reduceChat(this.chat, action);
      this.seq++;
    }
    for (const listener of this.listeners) listener(action, origin, accepts ? undefined : "no");
  }

  happen(what: "take up" | "end turn" | "foreign turn" | "foreign steering"): void {
    const { activeTurn, steeringMessage, queuedMessages } = this.chat;
    if (what === "foreign steering") this.say(steer(`f${this.seq}`, "theirs"), OTHER);
    else if (what === "foreign turn" && !activeTurn) this.say(started(`ft${this.seq}`, "theirs"), OTHER);
    else if (what === "take up" && activeTurn && steeringMessage) {
      const _meta = { innkeeper: { steering: { id: steeringMessage.id, message: steeringMessage.message } } };
      this.say({ type: "chat/responsePart", turnId: activeTurn.id, part: { kind: "systemNotification", content: steeringMessage.message.text, _meta } });
      this.say({ type: "chat/pendingMessageRemoved", kind: "steering", id: steeringMessage.id });
    } else if (what === "end turn" && activeTurn) {
      this.say({ type: "chat/turnComplete", turnId: activeTurn.id, duration: 1 });
      const next = steeringMessage ?? queuedMessages?.[0];
      if (!next) return;
      this.say({ type: "chat/pendingMessageRemoved", kind: steeringMessage ? "steering" : "queued", id: next.id });
      this.say({ type: "chat/turnStarted", turnId: `n${this.seq}`, startedAt: AT, message: next.message, queuedMessageId: next.id });
    }
  }
}

function check(host: ModelHost, client: ReturnType<ModelHost["open"]>, words: string[]): void {
  const { drafts, messages, scheduledMessages } = client.store.getState();
  const shown = [drafts.get(CHAT)?.words.text ?? "", ...messages.map(({ text }) => text), ...scheduledMessages.map(({ text }) => text)];
  // A turn that another client's turn overtook is not shown, but on its way.
  const onItsWay = client.store.unconfirmed().map(({ action }) => JSON.stringify(action));
  const all = [...shown, ...onItsWay].join("\n");
  for (const word of words) expect(all.includes(word), `${word} in ${JSON.stringify({ shown, onItsWay, host: host.chat })}`).toBe(true);
}
