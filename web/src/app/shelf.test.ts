import { describe, expect, test } from "vitest";
import type { MessageAttachment } from "../protocol/types";
import type { Draft } from "../state/drafts";
import type { Spoken } from "../state/spoken";
import { BrowserShelf } from "./shelf";
import type { Pictures } from "./pictures";
import { shareable, SHARED_ATTACHMENTS } from "./drafts";

class FakeStorage {
  readonly items = new Map<string, string>();
  constructor(private readonly quota = Number.POSITIVE_INFINITY) {}
  get length() {
    return this.items.size;
  }
  key = (at: number) => [...this.items.keys()][at] ?? null;
  getItem = (name: string) => this.items.get(name) ?? null;
  removeItem = (name: string) => void this.items.delete(name);
  setItem = (name: string, text: string) => {
    const others = [...this.items].reduce((sum, [known, value]) => sum + (known === name ? 0 : value.length), 0);
    if (others + text.length > this.quota) throw new Error("QuotaExceededError");
    this.items.set(name, text);
  };
}

class FakePictures implements Pictures {
  readonly kept = new Map<string, string>();
  isBroken = false;
  put = (key: string, data: string) => (this.isBroken ? Promise.reject(new Error("full")) : Promise.resolve(void this.kept.set(key, data)));
  get = (key: string) => Promise.resolve(this.kept.get(key));
  keepOnly = (keys: ReadonlySet<string>) => Promise.resolve([...this.kept.keys()].forEach((key) => keys.has(key) || this.kept.delete(key)));
}

const picture = (size: number, label = "a.png"): MessageAttachment => ({ type: "embeddedResource", label, contentType: "image/png", data: "x".repeat(size) });
const draft = (text: string, ...attachments: MessageAttachment[]): Draft => ({ words: { text, attachments }, isOwn: true, shared: { text: "", attachments: [] } });
const settled = () => new Promise((resolve) => setTimeout(resolve));

function browserWith(quota?: number) {
  const storage = new FakeStorage(quota);
  const pictures = new FakePictures();
  const problems: boolean[] = [];
  const page = (name: string) => new BrowserShelf(name, storage, pictures, (isFull) => problems.push(isFull));
  return { storage, pictures, problems, page };
}

describe("the browser's storage", () => {
  test("has a draft at once, picture and all, and gives it to the same page again", () => {
    const { page } = browserWith();
    page("one").keepDraft("chat", draft("half", picture(5000)));
    expect(page("one").own().drafts).toMatchObject([["chat", { words: { text: "half", attachments: [picture(5000)] }, isRestored: true }]]);
  });

  test("moves pictures to the database, and brings them back from there", async () => {
    const { page, storage, pictures } = browserWith();
    page("one").keepDraft("chat", draft("half", picture(5000)));
    await settled();
    expect([...storage.items.values()].join().length).toBeLessThan(1000);
    const again = page("one");
    expect(again.own().drafts).toEqual([]);
    const { left, done } = await again.later(() => true);
    expect(left.drafts).toMatchObject([["chat", { words: { text: "half", attachments: [picture(5000)] } }]]);
    done();
    expect(pictures.kept.size).toBe(1);
  });

  test("keeps what was said until it has arrived", () => {
    const { page } = browserWith();
    const spoken: Spoken = { id: "m", chat: "chat", manner: "send", words: { text: "hello", attachments: [] }, clientSeq: 3, isConfirmed: false };
    const shelf = page("one");
    shelf.keepSpoken(spoken);
    expect(page("one").own().spoken).toEqual([{ ...spoken, clientSeq: undefined }]);
    shelf.dropSpoken("m");
    expect(page("one").own().spoken).toEqual([]);
  });

  test("is shared by pages that do not write over each other; the living keep theirs", async () => {
    const { page, storage } = browserWith();
    page("one").keepDraft("chat", draft("first"));
    page("two").keepDraft("chat", draft("second"));
    const three = page("three");
    const { left, done } = await three.later((name) => name === "two");
    expect(left.drafts.map(([, { words }]) => words.text)).toEqual(["first"]);
    expect(storage.length).toBe(2);
    done();
    expect(storage.length).toBe(1);
  });

  test("that is full says so, and still takes the text without the picture", async () => {
    const { page, problems, pictures } = browserWith(2000);
    const shelf = page("one");
    shelf.keepDraft("chat", draft("short", picture(5000)));
    expect(problems.at(-1)).toBe(false);
    expect(page("one").own().drafts).toEqual([]);
    await settled();
    expect((await page("one").later(() => true)).left.drafts).toMatchObject([["chat", { words: { text: "short", attachments: [picture(5000)] } }]]);
    pictures.isBroken = true;
    shelf.keepDraft("chat", draft("short", picture(6000)));
    await settled();
    expect(problems.at(-1)).toBe(true);
    shelf.keepDraft("chat", draft("shorter"));
    expect(problems.at(-1)).toBe(false);
    shelf.keepDraft("chat", draft("x".repeat(3000)));
    expect(problems.at(-1)).toBe(true);
  });
});

test("the host is told as much of a draft as it can bear", () => {
  const [small, large] = [picture(1000, "small.png"), picture(SHARED_ATTACHMENTS, "large.png")];
  expect(shareable({ text: "both", attachments: [large, small] })).toEqual({ text: "both", attachments: [small] });
  expect(shareable({ text: "x".repeat(2 * 1024 * 1024), attachments: [] }).text).toBe("");
});
