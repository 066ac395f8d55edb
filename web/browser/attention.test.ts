// Calling somebody who looks elsewhere; suggestions; installing.

import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hostAndBrowser, newSession, repositoryIn, scenario, send, sessionIn } from "./harness";

const inn = hostAndBrowser();
const { open } = inn;

interface Seen {
  notified: { title: string; body: string }[];
}

test("a session that begins to need somebody calls, unless it is being looked at", async () => {
  const page = await open("#/settings");
  await page.context().grantPermissions(["notifications"]);
  await page.evaluate(() => {
    const seen: Seen["notified"] = [];
    class FakeNotification {
      static permission = "granted";
      static requestPermission = () => Promise.resolve("granted");
      onclick: unknown;
      constructor(title: string, { body }: { body: string }) {
        seen.push({ title, body });
      }
      close(): void {}
    }
    Object.assign(globalThis, { Notification: FakeNotification, notified: seen });
  });
  await page.getByLabel(/Notify me/).check();
  await newSession(page);
  const asks = { tool: { name: "deploy", input: {}, confirm: "ask", result: { success: true } } };
  await send(page, scenario({ title: "Looked at" }, asks));
  await page.locator(".approval").waitFor();
  expect(await page.evaluate(() => (globalThis as never as Seen).notified)).toEqual([]);
  await newSession(page);
  await send(page, scenario({ title: "Elsewhere" }, { awaitSteering: true }, asks));
  await page.locator(".working").waitFor();
  await page.evaluate(() => {
    interface Client {
      innkeeper: { store: { getState(): { currentChatId: string }; dispatch(channel: string, action: object): void } };
    }
    const { store } = (globalThis as never as Client).innkeeper;
    const chat = store.getState().currentChatId;
    location.hash = "#/settings";
    const message = { text: "go", origin: { kind: "user" } };
    store.dispatch(chat, { type: "chat/pendingMessageSet", kind: "steering", id: "s", message });
  });
  const titles = () => page.evaluate(() => (globalThis as never as Seen).notified.map(({ title }) => title));
  await expect.poll(titles).toEqual(["Elsewhere"]);
  expect(await page.title()).toMatch(/^\(2\)/);
});

describe("suggestions", () => {
  test("a slash offers what the host knows, and the keyboard takes it", async () => {
    const page = await open();
    await newSession(page);
    await page.locator("[data-composer]").pressSequentially("/sc");
    await page.getByRole("option").first().waitFor();
    await page.locator("[data-composer]").press("Tab");
    await expect.poll(() => page.locator("[data-composer]").inputValue()).toMatch(/^\/scenarios/);
  });

  test("an at sign offers the files of the directory, and the chosen one goes along", async () => {
    const page = await inn.open("#/new");
    await sessionIn(page, repositoryIn(join(inn.host.directory, "pantry")));
    await page.locator("[data-composer]").pressSequentially("look at @men");
    await page.getByRole("option", { name: "menu.txt" }).waitFor();
    await page.locator("[data-composer]").press("Enter");
    await page.getByRole("list", { name: "Attachments" }).getByText("menu.txt").waitFor();
    await page.locator("[data-composer]").press("Enter");
    await page.locator(".turn-footer").waitFor();
    expect(await page.locator(".attachments").innerText()).toContain("menu.txt");
  });
});

test("the client can be installed", async () => {
  const page = await open();
  const manifest = await page.evaluate(async () => {
    const answer = await fetch("/manifest.webmanifest");
    return (await answer.json()) as { icons: { src: string }[] };
  });
  for (const { src } of manifest.icons) {
    expect(await page.evaluate((path) => fetch(path).then(({ status }) => status), src)).toBe(200);
  }
  const scope = await page.evaluate(() => navigator.serviceWorker.ready.then((ready) => ready.scope));
  expect(scope).toBe(new URL("/", page.url()).href);
});
