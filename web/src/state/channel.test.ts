import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ActionEnvelope, ChatAction } from "../protocol/types";
import { openChannel, receive, withOwnAction } from "./channel";
import type { Channel } from "./channel";
import { reduce } from "./reducers";
import type { ChannelState } from "./reducers";
import { CHAT, emptyChat, message, started } from "./testing";

function open(): Channel {
  const channel = openChannel({ resource: CHAT, state: emptyChat(), fromSeq: 0 });
  if (!channel) throw new Error("no channel");
  return channel;
}

const queued = (id: string): ChatAction => ({ type: "chat/pendingMessageSet", kind: "queued", id, message: message(id) });
const removed = (id: string): ChatAction => ({ type: "chat/pendingMessageRemoved", kind: "queued", id });
const echo = (action: ChatAction, serverSeq: number, clientSeq: number, rejectionReason?: string): ActionEnvelope => ({
  channel: CHAT,
  action,
  serverSeq,
  origin: { clientId: "me", clientSeq },
  rejectionReason,
});

describe("write-ahead", () => {
  test("an own action shows at once and stays when it is echoed", () => {
    const said = withOwnAction(open(), { clientSeq: 1, action: queued("a") });
    expect(said.view).toMatchObject({ state: { queuedMessages: [{ id: "a" }] } });
    expect(said.confirmed).toMatchObject({ state: { turns: [] } });
    const confirmed = receive(said, echo(queued("a"), 1, 1), "me");
    expect(confirmed.pending).toEqual([]);
    expect(confirmed.view).toBe(confirmed.confirmed);
    expect(confirmed.view).toMatchObject({ state: { queuedMessages: [{ id: "a" }] } });
  });

  test("a rejected action is taken back", () => {
    const said = withOwnAction(open(), { clientSeq: 1, action: queued("a") });
    const rejected = receive(said, echo(queued("a"), 1, 1, "no"), "me");
    expect(rejected.view.state).toEqual(emptyChat());
  });

  test("an echo settles what was said before it, a rejection only what it names", () => {
    const both = withOwnAction(withOwnAction(open(), { clientSeq: 1, action: queued("a") }), { clientSeq: 2, action: queued("b") });
    expect(receive(both, echo(queued("b"), 1, 2), "me").pending).toEqual([]);
    expect(receive(both, echo(queued("b"), 1, 2, "no"), "me").pending).toMatchObject([{ clientSeq: 1 }]);
  });

  test("an action that was seen is not applied twice", () => {
    const once = receive(open(), echo(queued("a"), 5, 9), "me");
    expect(receive(once, echo(queued("b"), 5, 10), "me").confirmed).toBe(once.confirmed);
  });

  test("a turn that the host would refuse does not hide the one that runs", () => {
    const running = receive(open(), { channel: CHAT, action: started("theirs"), serverSeq: 1 }, "me");
    const said = withOwnAction(running, { clientSeq: 1, action: started("mine") });
    expect(said.view).toMatchObject({ state: { activeTurn: { id: "theirs" } } });
  });

  test("a fresh snapshot that holds an unconfirmed turn settles it", () => {
    const said = withOwnAction(open(), { clientSeq: 1, action: started("t") });
    const view = said.view.state;
    const again = openChannel({ resource: CHAT, state: view, fromSeq: 7 }, said.pending);
    expect(again?.pending).toEqual([]);
    const unknown = openChannel({ resource: CHAT, state: emptyChat(), fromSeq: 7 }, said.pending);
    expect(unknown?.pending).toHaveLength(1);
  });
});

/** A host that judges what clients say, in whatever order it arrives. */
class ModelHost {
  state: ChannelState = { kind: "chat", state: emptyChat() };
  seq = 0;
  log: ActionEnvelope[] = [];

  judge(action: ChatAction, origin: ActionEnvelope["origin"], accepts: boolean): void {
    if (accepts) {
      this.state = reduce(this.state, action);
      this.log.push({ channel: CHAT, action, origin, serverSeq: ++this.seq });
    } else {
      this.log.push({ channel: CHAT, action, origin, serverSeq: this.seq, rejectionReason: "no" });
    }
  }
}

const ids = fc.constantFrom("a", "b", "c");
const anyAction: fc.Arbitrary<ChatAction> = fc.oneof(
  ids.map(queued),
  ids.map(removed),
  ids.map((id) => started(id)),
  ids.map((id): ChatAction => ({ type: "chat/turnCancelled", turnId: id, duration: 1 })),
  ids.map((id): ChatAction => ({ type: "chat/draftChanged", draft: message(id) })),
  fc.shuffledSubarray(["a", "b", "c"]).map((order): ChatAction => ({ type: "chat/queuedMessagesReordered", order })),
);

test("any interleaving of echoes, foreign actions and rejections converges", () => {
  const step = fc.oneof(
    fc.record({ what: fc.constant("say" as const), action: anyAction }),
    fc.record({ what: fc.constant("judge" as const), accepts: fc.boolean() }),
    fc.record({ what: fc.constant("foreign" as const), action: anyAction }),
    fc.record({ what: fc.constant("deliver" as const) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const host = new ModelHost();
      let client = open();
      let clientSeq = 0;
      let delivered = 0;
      const onTheWay: { action: ChatAction; clientSeq: number }[] = [];
      const deliver = () => {
        const envelope = host.log[delivered];
        if (!envelope) return;
        delivered++;
        client = receive(client, envelope, "me");
      };
      for (const next of steps) {
        if (next.what === "say") {
          const own = { clientSeq: ++clientSeq, action: next.action };
          client = withOwnAction(client, own);
          onTheWay.push(own);
        } else if (next.what === "foreign") host.judge(next.action, { clientId: "other", clientSeq: 1 }, true);
        else if (next.what === "deliver") deliver();
        else {
          const own = onTheWay.shift();
          if (own) host.judge(own.action, { clientId: "me", clientSeq: own.clientSeq }, next.accepts);
        }
      }
      for (const own of onTheWay) host.judge(own.action, { clientId: "me", clientSeq: own.clientSeq }, true);
      while (delivered < host.log.length) deliver();
      expect(client.pending).toEqual([]);
      expect(client.view.state).toEqual(host.state.state);
    }),
    { numRuns: 300 },
  );
});
