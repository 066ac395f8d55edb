import { rmSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { entries, hostAndBrowser, launch, newSession, openPage, play, scenario, send, startHost } from "./harness";

const { open } = hostAndBrowser();

interface Client {
  innkeeper: {
    connection: { drop(): void; whenReady(): Promise<void>; stop(): void; start(): void };
    store: { unconfirmed(): unknown[]; getState(): { streaming: boolean; connected: boolean; messages: { text: string; kind: string }[] } };
  };
}

const isDone = (page: Page) => page.evaluate(() => !(globalThis as never as Client).innkeeper.store.getState().streaming);

describe("a connection that breaks", () => {
  test("a hundred times during a stream, and nothing is lost or doubled", async () => {
    const page = await open();
    await newSession(page);
    const words = Array.from({ length: 3000 }, (_, index) => `w${index}`).join(" ");
    await send(page, scenario({ say: words, chunks: 3000, everyMs: 1 }));
    await page.locator(".entry-assistant").waitFor();
    const drops = await page.evaluate(async () => {
      const { connection } = (globalThis as never as Client).innkeeper;
      let dropped = 0;
      for (; dropped < 100; dropped++) {
        connection.drop();
        (connection as never as { nudge(): void }).nudge();
        await connection.whenReady();
      }
      return dropped;
    });
    expect(drops).toBe(100);
    await expect.poll(() => isDone(page), { timeout: 50_000 }).toBe(true);
    const said = await page.evaluate(() => (globalThis as never as Client).innkeeper.store.getState().messages.find(({ kind }) => kind === "assistant")?.text);
    expect(said).toBe(words);
  });

  test("what is said without a connection arrives once", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "before");
    await page.evaluate(() => (globalThis as never as Client).innkeeper.connection.stop());
    await send(page, "said into the dark");
    await page.locator(".user-bubble", { hasText: "dark" }).waitFor();
    await page.evaluate(() => (globalThis as never as Client).innkeeper.connection.start());
    await page.locator(".turn-footer").nth(1).waitFor();
    expect(await page.getByText("Not sent yet").count()).toBe(0);
    expect(await entries(page, "user").count()).toBe(2);
    expect(await page.evaluate(() => (globalThis as never as Client).innkeeper.store.unconfirmed().length)).toBe(0);
  });

  test("the banner comes and goes by itself", async () => {
    const page = await open();
    await page.context().setOffline(true);
    await page.evaluate(() => (globalThis as never as Client).innkeeper.connection.drop());
    await page.locator(".banner").waitFor();
    await page.context().setOffline(false);
    await page.locator(".banner").waitFor({ state: "detached" });
  });
});

describe("a host that stops and starts", () => {
  test("the page goes on where it was", async () => {
    const browser = await launch();
    const first = await startHost();
    const page = await openPage(browser, `${first.web}#/`);
    await newSession(page);
    await play(page, "before the end");
    await first.stop();
    await page.locator(".banner").waitFor();
    const port = new URL(first.web).port;
    const second = await startHost(undefined, { port, keep: first.directory });
    await page.locator(".banner").waitFor({ state: "detached" });
    await play(page, "after the end");
    expect(await page.locator(".user-bubble").allInnerTexts()).toEqual(["before the end", "after the end"]);
    await page.close();
    await second.stop();
    await browser.close();
    rmSync(first.directory, { recursive: true, force: true });
  });
});

describe("a host with a token", () => {
  test("it is asked for, kept, and taken out of the address", async () => {
    const browser = await launch();
    const guarded = await startHost(["--connection-token", "sesame"]);
    const context = await browser.newContext();
    const page = await context.newPage();
    const plain = new URL("/", guarded.web).href;
    await page.goto(plain);
    await page.getByText("The host wants a token").waitFor();
    await page.getByLabel("Token").fill("sesame");
    await page.getByRole("button", { name: "Connect" }).click();
    await page.locator('.app[data-phase="connected"]').waitFor();
    const other = await (await browser.newContext()).newPage();
    await other.goto(`${plain}?tkn=sesame`);
    await other.locator('.app[data-phase="connected"]').waitFor();
    expect(other.url()).not.toContain("sesame");
    await browser.close();
    await guarded.stop();
    rmSync(guarded.directory, { recursive: true, force: true });
  });
});
