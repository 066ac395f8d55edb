// What is around the pages: sidebar, panes, notices, keys, the list, and a start
// without the host.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { axeFindings, hostAndBrowser, newSession, play, said, scenario, send } from "./harness";

const inn = hostAndBrowser();
const { open } = inn;
const row = (page: Page, title: string) => page.locator(".session-row", { hasText: title });
const titles = (page: Page) => page.locator(".session-title").allInnerTexts();

interface Client {
  innkeeper: {
    store: {
      notify(notice: object): number;
      setSidebarOpen(isOpen: boolean): void;
      getState(): { root: { config: { values: Record<string, unknown> } } };
    };
  };
}

describe("the sidebar", () => {
  test("is hidden and shown by key and button, and stays as it was left", async () => {
    const page = await open();
    await page.keyboard.press("Control+KeyB");
    await page.locator(".sidebar").waitFor({ state: "hidden" });
    await page.reload();
    await page.getByRole("button", { name: "Show sidebar" }).waitFor();
    expect(await page.locator(".sidebar").isVisible()).toBe(false);
    await page.getByRole("button", { name: "Show sidebar" }).click();
    await page.locator(".sidebar").waitFor();
    await page.evaluate(() => (globalThis as never as Client).innkeeper.store.setSidebarOpen(false));
    await page.locator(".sidebar").waitFor({ state: "hidden" });
  });

  test("is made wider by keyboard and pointer, and stays so", async () => {
    const page = await open();
    const width = async () => (await page.locator(".sidebar").boundingBox())?.width;
    const separator = page.getByRole("separator", { name: "Width of the sidebar" });
    const before = (await width()) ?? 0;
    await separator.focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(width).toBe(before + 16);
    const box = await separator.boundingBox();
    await page.mouse.move((box?.x ?? 0) + 4, 300);
    await page.mouse.down();
    await page.mouse.move((box?.x ?? 0) + 44, 300, { steps: 4 });
    await page.mouse.up();
    await expect.poll(width).toBe(before + 56);
    await page.reload();
    await expect.poll(width).toBe(before + 56);
  });
});

test("a double click on Changes opens and closes them, and hits nothing else", async () => {
  const page = await open();
  await newSession(page);
  await play(page, "hello");
  const setting = () => page.evaluate(() => (globalThis as never as Client).innkeeper.store.getState().root.config.values["diffView"]);
  const before = await setting();
  const button = page.getByRole("button", { name: "Changes", exact: true });
  const place = await button.boundingBox();
  await button.click();
  await page.getByRole("complementary", { name: "changes" }).waitFor();
  expect(await button.boundingBox()).toEqual(place);
  await page.mouse.click((place?.x ?? 0) + 8, (place?.y ?? 0) + 8);
  await page.getByRole("complementary", { name: "changes" }).waitFor({ state: "detached" });
  expect(await setting()).toBe(before);
});

test.each([
  ["next to a pane", { width: 1000, height: 640 }],
  ["on a phone", { width: 390, height: 700 }],
])("what sends stays at the end of the editor, however long the names next to it are, %s", async (_, viewport) => {
  const page = await open("#/", { viewport });
  await newSession(page);
  await page.goto(`${page.url()}?pane=changes`);
  if (viewport.width < 500) await page.goBack();
  const ends = await page.locator(".composer-bar").evaluate((bar) => {
    for (const name of bar.querySelectorAll(".picker > span:first-of-type")) name.textContent = "A name that nobody would have thought of";
    const [outer, send] = [bar, bar.querySelector(".send")].map((element) => element?.getBoundingClientRect());
    return outer && send ? { right: outer.right - send.right, bottom: outer.bottom - send.bottom, left: send.left - outer.left } : undefined;
  });
  expect(ends?.right).toBeLessThan(16);
  expect(ends?.bottom).toBeLessThan(16);
  expect(ends?.left).toBeGreaterThan(100);
});

describe("notices", () => {
  test("the same words are counted, errors stay, and the rest goes by itself", async () => {
    const page = await open();
    await page.clock.install();
    await page.evaluate(() => {
      const { store } = (globalThis as never as Client).innkeeper;
      for (let times = 0; times < 3; times++) store.notify({ tone: "error", text: "It did not work" });
      store.notify({ tone: "info", text: "By the way" });
    });
    await page.clock.runFor(500);
    await page.locator(".notice.error", { hasText: "3×" }).waitFor();
    expect(await page.locator(".notice").count()).toBe(2);
    await page.clock.runFor(20_000);
    await expect.poll(() => page.locator(".notice").allInnerTexts()).toHaveLength(1);
    expect(await page.locator(".notice").innerText()).toContain("It did not work");
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.clock.runFor(500);
    await expect.poll(() => page.locator(".notice").count()).toBe(0);
  });
});

test("a page that was loaded again does not meet itself", async () => {
  const page = await open();
  await newSession(page);
  await play(page, "anybody here");
  await page.reload();
  await page.locator(".user-bubble").waitFor();
  const clients = () =>
    page.evaluate(() => (globalThis as never as { innkeeper: { store: { getState(): { session?: { activeClients: unknown[] } } } } }).innkeeper.store.getState().session?.activeClients.length);
  await expect.poll(clients).toBeGreaterThan(1);
  expect(await page.locator(".presence").count()).toBe(0);
});

describe("the list", () => {
  test("times move on by themselves", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "what is the time");
    await page.clock.install();
    await page.goto(`${page.url().split("#")[0]}#/settings`);
    await page.reload();
    await row(page, "what is the time").locator("time", { hasText: "now" }).waitFor();
    await page.clock.runFor(2 * 3_600_000);
    await row(page, "what is the time").locator("time", { hasText: "2h" }).waitFor();
  });

  test("the button of a row takes the place of its time", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "where is the time");
    await row(page, "where is the time").hover();
    await row(page, "where is the time").getByRole("button", { name: /Actions/ }).waitFor();
    expect(await row(page, "where is the time").locator("time").isVisible()).toBe(false);
  });

  test("what failed in the background stands on top, under what waits", async () => {
    const page = await open();
    await newSession(page);
    await send(page, scenario({ title: "Broken" }, { awaitSteering: true }, { fail: { errorType: "broken", message: "It broke" } }));
    await page.locator(".working").waitFor();
    await page.evaluate(() => {
      interface Acting {
        innkeeper: { store: { getState(): { currentChatId: string }; dispatch(channel: string, action: object): void } };
      }
      const { store } = (globalThis as never as Acting).innkeeper;
      const chat = store.getState().currentChatId;
      location.hash = "#/settings";
      store.dispatch(chat, { type: "chat/pendingMessageSet", kind: "steering", id: "s", message: { text: "go on", origin: { kind: "user" } } });
    });
    await page.locator(".row-failed", { hasText: "Broken" }).waitFor();
    await page.getByRole("heading", { name: /Needs you/ }).waitFor();
    const order = await titles(page);
    expect(order.indexOf("Broken")).toBeLessThan(2);
    expect(await page.title()).toMatch(/^\(\d+\)/);
  });

  test("is grouped by project, and remembers that", async () => {
    const page = await open();
    await page.getByRole("button", { name: /Group and filter/ }).click();
    await page.getByRole("menuitemradio", { name: "Project" }).click();
    await page.getByRole("heading", { name: /the-inn/ }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: /the-inn/ }).waitFor();
  });

  test("several sessions are archived or deleted at once, and that can be undone", async () => {
    const page = await open();
    for (const words of ["first of many", "second of many"]) {
      await newSession(page);
      await play(page, words);
    }
    await row(page, "first of many").click({ modifiers: ["ControlOrMeta"] });
    await row(page, "second of many").click();
    await page.getByRole("toolbar").getByText("2 selected").waitFor();
    await page.getByRole("toolbar").getByRole("button", { name: "Delete" }).click();
    await page.getByText("Deleted 2 sessions").waitFor();
    expect(await row(page, "of many").count()).toBe(0);
    await page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(() => row(page, "of many").count()).toBe(2);
  });

  test("a right click pins a session, and the pin stays", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "keep me in sight");
    await row(page, "keep me in sight").click({ button: "right" });
    await page.getByRole("menuitem", { name: "Pin", exact: true }).click();
    await page.getByRole("heading", { name: /Pinned/ }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: /Pinned/ }).waitFor();
    await row(page, "keep me in sight").locator("[title=Pinned]").waitFor();
  });
});

describe("keys and commands", () => {
  test("a question mark shows the keys", async () => {
    const page = await open("#/settings");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
  });

  test("a session is exported as one file that holds what was said", async () => {
    const page = await open();
    await newSession(page);
    await play(page, scenario({ title: "Told <b>twice</b>" }, { say: "An answer & more" }));
    const download = page.waitForEvent("download");
    await page.keyboard.press("Control+KeyK");
    await page.keyboard.type("export");
    await page.keyboard.press("Enter");
    const file = await (await download).path();
    const html = readFileSync(file, "utf8");
    expect(html).toContain("An answer &amp; more");
    expect(html).toContain("<h1 dir=\"auto\">Told &lt;b&gt;twice&lt;/b&gt;</h1>");
    expect(html).not.toContain("<script");
  });
});

test("everything that a finger touches is 44 pixels high", async () => {
  const page = await open("#/", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await newSession(page);
  await page.locator("[data-composer]").fill("hello");
  await page.getByRole("button", { name: "Send" }).tap();
  await page.locator(".turn-footer").waitFor();
  const small = () =>
    page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>(".nav-item, .session-row > a, .row-menu, .session-head .icon-button, .composer-bar .icon-button, .composer-bar .picker, .home-place .picker, .recent a, .button")]
        .filter((element) => element.checkVisibility())
        .filter((element) => element.getBoundingClientRect().height < 44)
        .map((element) => `${element.className} ${element.getBoundingClientRect().height}`),
    );
  expect(await small()).toEqual([]);
  for (const path of ["#/", "#/start", "#/inbox", "#/new"]) {
    await page.goto(`${page.url().split("#")[0]}${path}`);
    await page.locator(path === "#/" ? ".session-row" : "main h1").first().waitFor();
    expect(await small()).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  }
});

test("after one visit the page starts without the host", async () => {
  const page = await open();
  await page.evaluate(() => navigator.serviceWorker.ready);
  await expect.poll(() => page.evaluate(async () => (await (await caches.open("innkeeper-2")).keys()).length)).toBeGreaterThan(10);
  await page.context().setOffline(true);
  await page.reload();
  await page.locator("[data-composer]").waitFor();
  expect(await page.locator(".brand img").evaluate((image) => (image as HTMLImageElement).naturalWidth)).toBeGreaterThan(0);
  await page.getByText("Your sessions appear as soon as the host answers.").waitFor();
  await page.locator("[data-composer]").fill("written offline");
  await page.context().setOffline(false);
  await page.reload();
  await expect.poll(() => page.locator("[data-composer]").inputValue()).toBe("written offline");
});

test("what is found in conversations is shown with its words marked", async () => {
  const page = await open();
  await newSession(page);
  await play(page, scenario({ title: "Roof" }, { say: "the hinges are oak" }));
  await said(page, "hinges").waitFor();
  await page.evaluate(() => {
    interface Searching {
      innkeeper: {
        connection: { request(method: string, params: object): Promise<unknown> };
        store: { getState(): { root: object; currentSessionId: string; currentChatId: string }; handleServerEvent(event: object): void; flush(): void };
      };
    }
    const { connection, store } = (globalThis as never as Searching).innkeeper;
    const { root, currentSessionId: session, currentChatId: chat } = store.getState();
    const _meta = { innkeeper: { extensions: { "innkeeper/searchSessions": 1 } } };
    store.handleServerEvent({ type: "snapshot", snapshot: { resource: "ahp-root://", state: { ...root, _meta }, fromSeq: 0 } });
    store.flush();
    const ask = connection.request.bind(connection);
    const snippet = { text: "the hinges are <b>oak</b>", marks: [[18, 21]] };
    const item = { session, sessionTitle: "Roof", provider: "script", archived: false, chat, chatTitle: "Roof", turnId: "t", at: new Date().toISOString(), field: "answer", snippet };
    connection.request = (method, params) => (method === "innkeeper/searchSessions" ? Promise.resolve({ items: [item] }) : ask(method, params));
    location.hash = "#/search";
  });
  await page.getByLabel("Search in all sessions").fill("oak");
  const found = page.locator(".found li");
  await found.waitFor();
  expect(await found.locator("mark").innerText()).toBe("oak");
  expect(await found.innerText()).toContain("<b>oak</b>");
  expect(await axeFindings(page)).toEqual([]);
  await found.locator("a").click();
  await said(page, "hinges").waitFor();
});
