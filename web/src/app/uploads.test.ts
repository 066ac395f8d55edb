import { describe, expect, test } from "vitest";
import { RpcError } from "../protocol/rpc";
import type { MessageAttachment } from "../protocol/types";
import { CHAT, started, storeWithChat } from "../state/testing";
import type { Host } from "./host";
import { needsUploads, sayLarge } from "./uploads";

const picture = (label: string, size: number): MessageAttachment => ({ type: "embeddedResource", label, contentType: "image/png", data: "A".repeat(size), displayKind: "image" });
const MB = 1024 * 1024;

/** A host that answers each upload as told. */
function hostWith(answer: (uri: string) => void = () => {}) {
  const { store, sent, say } = storeWithChat();
  const written: { uri: string; data: string; channel: string }[] = [];
  const persist = (_method: string, params: { uri: string; data: string; channel: string }) => {
    written.push(params);
    return new Promise((resolve) => resolve(answer(params.uri)));
  };
  const host = { store, connection: { persist } } as unknown as Host;
  const said = { text: "Look", attachments: [picture("one ü.png", 6 * MB), picture("two.png", 6 * MB), picture("dot.png", 10)] };
  store.write(CHAT, () => said);
  const draft = () => store.getState().drafts.get(CHAT);
  return { host, store, sent, say, written, said, draft };
}

describe("attachments that do not fit into a message", () => {
  test("are those that make it too large, however many there are", () => {
    const words = (...attachments: MessageAttachment[]) => ({ text: "", attachments });
    expect(needsUploads(words(picture("a", 5 * MB)))).toBe(false);
    expect(needsUploads(words(picture("a", 8 * MB)))).toBe(true);
    expect(needsUploads(words(...Array.from({ length: 100 }, () => picture("a", 200_000))))).toBe(true);
    expect(needsUploads({ text: "x".repeat(9 * MB), attachments: [] })).toBe(false);
  });

  test("are written to the host, and the message refers to them", async () => {
    const { host, sent, written, said, draft } = hostWith();
    await sayLarge(host, CHAT, said, "steer");
    expect(written.map(({ data, channel }) => [data.length, channel])).toEqual([[6 * MB, CHAT], [6 * MB, CHAT]]);
    expect(written[0]?.uri).toMatch(/^innkeeper-content:\/uploads\/[^/]+\/one_.png$/);
    const message = (sent.find(({ action }) => action.type === "chat/turnStarted")?.action as ReturnType<typeof started> & { message: unknown }).message;
    expect(message).toMatchObject({
      text: "Look",
      attachments: [
        { type: "resource", label: "one ü.png", uri: written[0]?.uri, contentType: "image/png", displayKind: "image", sizeHint: 4.5 * MB },
        { type: "resource", label: "two.png" },
        { type: "embeddedResource", label: "dot.png" },
      ],
    });
    expect(draft()?.words).toEqual({ text: "", attachments: [] });
  });

  test("stay in the editor if one cannot be written, and those that were need not be written again", async () => {
    const { host, sent, written, said, draft } = hostWith(() => {
      if (written.length === 2) throw new Error("the disk is full");
    });
    await sayLarge(host, CHAT, said, "steer");
    expect(sent).toEqual([]);
    expect(draft()?.words.attachments.map(({ type }) => type)).toEqual(["resource", "embeddedResource", "embeddedResource"]);
    expect(draft()?.note).toMatch(/Not sent: .*the disk is full/);
  });

  test("count as written if they are there already, because an answer was lost", async () => {
    const { host, sent, said } = hostWith(() => {
      throw new RpcError({ code: -32010, message: "exists already" });
    });
    await sayLarge(host, CHAT, said, "steer");
    expect(sent.map(({ action }) => action.type)).toContain("chat/turnStarted");
  });

  test("wait in the editor if the text was changed meanwhile", async () => {
    const { host, store, sent, said, draft } = hostWith(() => store.write(CHAT, (known) => ({ ...known, text: "Look again" })));
    await sayLarge(host, CHAT, said, "steer");
    expect(sent).toEqual([]);
    expect(draft()?.words.text).toBe("Look again");
    expect(draft()?.note).toMatch(/you changed the message/);
  });

  test("wait in the editor if something was attached or removed meanwhile", async () => {
    const changes = [
      (known: readonly MessageAttachment[]) => [...known, picture("late.png", 10)],
      (known: readonly MessageAttachment[]) => known.filter(({ label }) => label !== "dot.png"),
    ];
    for (const change of changes) {
      let isChanged = false;
      const { host, store, sent, said, draft } = hostWith(() => {
        if (!isChanged) store.write(CHAT, (known) => ({ ...known, attachments: change(known.attachments) }));
        isChanged = true;
      });
      const expected = change(said.attachments).map(({ label }) => label);
      await sayLarge(host, CHAT, said, "steer");
      expect(sent).toEqual([]);
      expect(draft()?.words.attachments.map(({ label }) => label)).toEqual(expected);
    }
  });

  test("go along with a steering message if a turn has begun meanwhile", async () => {
    const { host, sent, said, say } = hostWith(() => say(started("t")));
    await sayLarge(host, CHAT, said, "steer");
    expect(sent.map(({ action }) => action.type)).toContain("chat/pendingMessageSet");
  });
});
