// No word is lost: what was typed, pasted or said comes back if it did not
// arrive, and stays if the page does not.

import { describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { hostAndBrowser, newSession, pastePicture, play, said, scenario, send } from "./harness";

const { open } = hostAndBrowser();
const editor = (page: Page) => page.locator("[data-composer]");
const chips = (page: Page) => page.locator(".attachment-strip .chip");
const waiting = scenario({ say: "started" }, { awaitSteering: true }, { say: "over" });

interface Client {
  innkeeper: {
    connection: { stop(): void; start(): void };
    store: {
      clientId: string;
      unconfirmed(): unknown[];
      getState(): { currentChatId: string; chat?: { draft?: { text: string; attachments?: unknown[] } } };
      dispatch(channel: string, action: object): void;
    };
  };
}

const offline = (page: Page) => page.evaluate(() => (globalThis as never as Client).innkeeper.connection.stop());
const online = (page: Page) => page.evaluate(() => (globalThis as never as Client).innkeeper.connection.start());

describe("a message that the host does not take", () => {
  test("comes back to the editor with the reason, before what is typed there now", async () => {
    const first = await open();
    await newSession(first);
    const second = await open(new URL(first.url()).hash);
    await editor(second).waitFor();
    await offline(second);
    await send(first, waiting);
    await said(first, "started").waitFor();
    await pastePicture(second, "dot.png");
    await send(second, "said too late");
    await second.locator(".user-bubble", { hasText: "said too late" }).waitFor();
    await editor(second).fill("being typed");
    await online(second);
    await expect.poll(() => editor(second).inputValue()).toBe("said too late\n\nbeing typed");
    await chips(second).filter({ hasText: "dot.png" }).waitFor();
    expect(await second.locator(".editor-note").innerText()).toContain("is running");
  });

  test("waits in the editor of its chat when another one is open", async () => {
    const first = await open();
    await newSession(first);
    const hash = new URL(first.url()).hash;
    const second = await open(hash);
    await editor(second).waitFor();
    await offline(second);
    await send(first, waiting);
    await said(first, "started").waitFor();
    await send(second, "said too late");
    await second.evaluate(() => (location.hash = "#/settings"));
    await online(second);
    await second.locator(".notice.error").waitFor();
    await second.evaluate((to) => (location.hash = to), hash);
    await expect.poll(() => editor(second).inputValue()).toBe("said too late");
  });

  test("that never left the page comes back when the page does", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "before");
    await offline(page);
    await pastePicture(page, "dot.png", 50_000);
    await send(page, "said into the dark");
    await page.locator(".user-bubble", { hasText: "dark" }).waitFor();
    await page.reload();
    await expect.poll(() => editor(page).inputValue()).toBe("said into the dark");
    await chips(page).filter({ hasText: "dot.png" }).waitFor();
    expect(await page.locator(".editor-note").innerText()).toContain("did not reach the host");
  });

  test("that arrived as the page went does not come back", async () => {
    const page = await open();
    await newSession(page);
    await send(page, "hello");
    await page.reload();
    await page.locator(".user-bubble", { hasText: "hello" }).waitFor();
    await page.locator(".turn-footer").waitFor();
    expect(await editor(page).inputValue()).toBe("");
  });
});

describe("a draft", () => {
  test("is there after a reload in the same moment, with its picture", async () => {
    const page = await open();
    await newSession(page);
    await pastePicture(page, "dot.png", 400_000);
    await editor(page).fill("half a thought");
    await page.reload();
    await expect.poll(() => editor(page).inputValue()).toBe("half a thought");
    await chips(page).filter({ hasText: "dot.png" }).waitFor();
    // Too large for the host's draft; the browser has it.
    await expect.poll(() => page.evaluate(() => (globalThis as never as Client).innkeeper.store.getState().chat?.draft?.text)).toBe("half a thought");
    expect(await page.evaluate(() => (globalThis as never as Client).innkeeper.store.getState().chat?.draft?.attachments)).toBeUndefined();
  });

  test("is there after another session was opened in the same moment, and on another device", async () => {
    const page = await open();
    await newSession(page);
    const hash = new URL(page.url()).hash;
    await pastePicture(page, "dot.png");
    await editor(page).fill("half a thought");
    await newSession(page);
    expect(await editor(page).inputValue()).toBe("");
    await page.evaluate((to) => (location.hash = to), hash);
    await expect.poll(() => editor(page).inputValue()).toBe("half a thought");
    expect(await chips(page).count()).toBe(1);
    const other = await open(hash);
    await expect.poll(() => editor(other).inputValue()).toBe("half a thought");
    await chips(other).filter({ hasText: "dot.png" }).waitFor();
  });

  test("reaches the host as the page is left", async () => {
    const page = await open();
    await newSession(page);
    const hash = new URL(page.url()).hash;
    await editor(page).fill("as I go");
    await page.goto("about:blank");
    const other = await open(hash);
    await expect.poll(() => editor(other).inputValue()).toBe("as I go");
  });

  test("that the browser's storage has no room for says so", async () => {
    const page = await open();
    await newSession(page);
    await page.evaluate(() => {
      Storage.prototype.setItem = () => {
        throw new DOMException("no room", "QuotaExceededError");
      };
    });
    await editor(page).fill("half a thought");
    await page.getByText("The browser’s storage is full").waitFor();
    expect(await editor(page).inputValue()).toBe("half a thought");
  });
});

test("what is begun on one device is finished and sent on another, and leaves both editors", async () => {
  const desk = await open();
  await newSession(desk);
  const phone = await open(new URL(desk.url()).hash);
  await editor(phone).waitFor();
  await editor(desk).pressSequentially("begun here");
  await expect.poll(() => editor(phone).inputValue()).toBe("begun here");
  await editor(phone).press("End");
  await editor(phone).pressSequentially(" and finished there");
  await expect.poll(() => editor(desk).inputValue()).toBe("begun here and finished there");
  await editor(phone).press("Enter");
  await desk.locator(".turn-footer").waitFor();
  await expect.poll(() => editor(desk).inputValue()).toBe("");
});

test("what is said without a connection says that it is not sent yet, and is sent once", async () => {
  const page = await open();
  await newSession(page);
  await play(page, "before");
  await page.context().setOffline(true);
  await page.evaluate(() => (globalThis as never as { innkeeper: { connection: { drop(): void } } }).innkeeper.connection.drop());
  await page.locator(".banner").waitFor();
  for (const text of ["one", "two", "three"]) await send(page, text);
  expect(await page.getByText("Not sent yet").count()).toBe(2);
  await page.context().setOffline(false);
  await page.locator(".turn-footer").nth(1).waitFor();
  await expect.poll(() => page.evaluate(() => (globalThis as never as Client).innkeeper.store.unconfirmed().length)).toBe(0);
  await expect.poll(() => page.locator(".scheduled").count()).toBe(0);
  const told = await page.evaluate(() => {
    const { messages } = (globalThis as never as { innkeeper: { store: { getState(): { messages: { kind: string; text: string }[] } } } }).innkeeper.store.getState();
    return messages.filter(({ kind }) => kind === "user").map(({ text }) => text);
  });
  // Said while the first of them was on its way, the others were meant to steer it.
  expect(told.filter((text) => text !== "before").join("\n\n")).toBe("one\n\ntwo\n\nthree");
  expect(await page.getByText("Not sent yet").count()).toBe(0);
});

describe("two pages of one browser", () => {
  test("do not write over each other's drafts, and one takes over what the other leaves", async () => {
    const first = await open();
    await newSession(first);
    const second = await first.context().newPage();
    await second.goto(first.url());
    await editor(second).waitFor();
    await offline(first);
    await offline(second);
    await editor(first).fill("from the first");
    await editor(second).fill("from the second");
    await second.reload();
    await expect.poll(() => editor(second).inputValue()).toBe("from the second");
    await first.close();
    await second.reload();
    await expect.poll(() => editor(second).inputValue()).toContain("from the first");
    expect(await editor(second).inputValue()).toContain("from the second");
  });
});

describe("steering", () => {
  test("joins what waits, and restoring brings back all of it with its pictures", async () => {
    const page = await open();
    await newSession(page);
    await send(page, scenario({ say: "started" }, { tool: { name: "x", input: {}, confirm: "ask", result: { success: true } } }));
    await page.locator(".dock").waitFor();
    await send(page, "first");
    await pastePicture(page, "dot.png", 100_000);
    await send(page, "second");
    await send(page, "third");
    await expect.poll(() => page.locator(".scheduled-text").allTextContents()).toEqual(["first\n\nsecond\n\nthird"]);
    await expect.poll(() => page.evaluate(() => (globalThis as never as Client).innkeeper.store.unconfirmed().length)).toBe(0);
    await page.getByRole("button", { name: "Restore to editor" }).click();
    expect(await editor(page).inputValue()).toBe("first\n\nsecond\n\nthird");
    expect(await page.locator(".attachment-strip img").count()).toBe(1);
  });

  test("that another client replaces comes back", async () => {
    const page = await open();
    await newSession(page);
    await send(page, scenario({ say: "started" }, { tool: { name: "x", input: {}, confirm: "ask", result: { success: true } } }));
    await page.locator(".dock").waitFor();
    await send(page, "ours");
    await page.locator(".scheduled").waitFor();
    const other = await open(new URL(page.url()).hash);
    await other.locator(".scheduled").waitFor();
    await other.evaluate(() => {
      const { store } = (globalThis as never as Client).innkeeper;
      const message = { text: "theirs", origin: { kind: "user" } };
      store.dispatch(store.getState().currentChatId, { type: "chat/pendingMessageSet", kind: "steering", id: "z", message });
    });
    await expect.poll(() => editor(page).inputValue()).toBe("ours");
    expect(await page.locator(".editor-note").innerText()).toContain("Another client replaced");
    expect(await page.locator(".scheduled-text").allInnerTexts()).toEqual(["theirs"]);
  });
});

test("what steered a turn stands in it with its picture, also after a reload", async () => {
  const page = await open();
  await newSession(page);
  await send(page, waiting);
  await said(page, "started").waitFor();
  await pastePicture(page, "dot.png");
  await send(page, "look left");
  await said(page, "over").waitFor();
  const steered = page.locator(".user-message.steered", { hasText: "look left" });
  for (const isAgain of [false, true]) {
    if (isAgain) await page.reload();
    await steered.waitFor();
    expect(await steered.count()).toBe(1);
    expect(await steered.innerText()).toContain("You, while it worked");
    expect(await steered.locator("img").count()).toBe(1);
  }
});

test("the words of a denial are said to the agent", async () => {
  const page = await open();
  await newSession(page);
  await send(page, scenario({ tool: { name: "run", input: { command: "make" }, confirm: "ask", result: { success: true } } }));
  await page.getByRole("button", { name: "Deny with a reason…" }).click();
  await page.keyboard.type("Use ninja instead");
  await page.keyboard.press("Enter");
  const bubble = page.locator(".user-bubble", { hasText: "Use ninja instead" });
  await bubble.waitFor();
  expect(await bubble.innerText()).toBe("Use ninja instead");
  await said(page, "Use ninja instead").waitFor();
});

test("fifty messages in a row all stand somewhere", async () => {
  const page = await open();
  await newSession(page);
  await send(page, waiting);
  const words = Array.from({ length: 50 }, (_, n) => `quick${n}x`);
  for (const word of words) await send(page, word);
  await page.locator(".turn-footer").first().waitFor();
  await expect
    .poll(async () => {
      const all = `${await page.evaluate(() => JSON.stringify((globalThis as never as Client).innkeeper.store.getState().chat))}${await editor(page).inputValue()}`;
      return words.filter((word) => !all.includes(word));
    })
    .toEqual([]);
});
