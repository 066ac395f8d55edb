// Changes and terminals, from states as a host sends them.

import { describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { hostAndBrowser, newSession } from "./harness";

const { open } = hostAndBrowser();

interface Client {
  innkeeper: {
    store: {
      clientId: string;
      getState(): { currentSessionId: string };
      handleServerEvent(event: object): void;
      connectTo(send: (own: { channel: string; action: object }) => void): void;
    };
    connection: { request: (method: string, params: object) => Promise<unknown> };
    sent: object[];
    asked: object[];
  };
}

/** Notes what the page says, and answers with what a host would. */
async function standIn(page: Page): Promise<void> {
  await page.evaluate(() => {
    const client = (globalThis as never as Client).innkeeper;
    client.sent = [];
    client.asked = [];
    client.store.connectTo(({ channel, action }) => client.sent.push({ channel, ...action }));
    client.connection.request = (method, params) => {
      client.asked.push({ method, ...params });
      const { uri } = params as { uri?: string };
      return Promise.resolve(method === "resourceRead" ? { data: uri === "x:/old" ? "one\ntwo\n" : "one\n2\n", encoding: "utf-8" } : {});
    };
  });
}

const event = (page: Page, what: object) =>
  page.evaluate((given) => (globalThis as never as Client).innkeeper.store.handleServerEvent(given), what);

async function act(page: Page, channel: string, serverSeq: number, action: object): Promise<void> {
  await event(page, { type: "action", envelope: { channel, action, serverSeq } });
}

describe("changes", () => {
  test("files, their differences, and operations that ask first", async () => {
    const page = await open();
    await newSession(page);
    await standIn(page);
    const session = await page.evaluate(() => (globalThis as never as Client).innkeeper.store.getState().currentSessionId);
    const side = (uri: string) => ({ uri: "file:///p/src/a.txt", content: { uri } });
    const files = [
      { id: "a", edit: { before: side("x:/old"), after: side("x:/new"), diff: { added: 1, removed: 1 } } },
      { id: "b", edit: { after: { uri: "file:///p/docs/b.txt", content: { uri: "x:/new" } } } },
    ];
    const operations = [
      { id: "discard", label: "Discard", scopes: ["resource"], status: "idle", confirmation: "Discard this change?" },
      { id: "commit", label: "Commit", scopes: ["changeset"], status: "idle" },
    ];
    await event(page, { type: "snapshot", snapshot: { resource: "x:/changes", state: { status: "ready", files, operations }, fromSeq: 0 } });
    await act(page, session, 1e9, { type: "session/changesetsChanged", changesets: [{ label: "All", uriTemplate: "x:/changes", changeKind: "session" }] });
    await page.getByRole("button", { name: "Changes" }).click();
    await page.locator(".diff-removed", { hasText: "two" }).waitFor();
    await page.locator(".diff-added", { hasText: "2" }).waitFor();
    await page.getByRole("button", { name: "Discard" }).click();
    await page.getByRole("dialog").getByText("Discard this change?").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
    await page.getByRole("button", { name: "Commit" }).click();
    const asked = () => page.evaluate(() => (globalThis as never as Client).innkeeper.asked);
    await expect.poll(asked).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ operationId: "discard", target: { kind: "resource", resource: "file:///p/src/a.txt" } }),
        expect.objectContaining({ operationId: "commit" }),
      ]),
    );
    await page.locator(".file-tree").getByText("b.txt").click();
    await expect.poll(() => page.locator(".diff-added").count()).toBe(2);
    await page.getByRole("button", { name: "Side by side" }).click();
    await page.locator(".diff-split").waitFor();
  });
});

describe("terminals", () => {
  test("output is shown, a terminal is taken over, and typing goes to it", async () => {
    const page = await open();
    await newSession(page);
    await standIn(page);
    const claim = { kind: "client", clientId: "somebody" };
    const lifecycle = { status: "running" };
    const state = { title: "bash", content: [{ type: "unclassified", value: "hello from \u001b[38;2;200;80;10mbash\u001b[0m\r\n$ " }], lifecycle, claim };
    await event(page, { type: "snapshot", snapshot: { resource: "x:/term", state, fromSeq: 0 } });
    await act(page, "ahp-root://", 1e9, { type: "root/terminalsChanged", terminals: [{ resource: "x:/term", title: "bash", claim, lifecycle }] });
    await page.getByRole("button", { name: "Terminals", exact: true }).click();
    await page.locator(".xterm-rows").getByText("hello from").waitFor();
    const coloured = page.locator(".xterm-rows span", { hasText: "bash" }).last();
    expect(await coloured.evaluate((element) => getComputedStyle(element).color)).toBe("rgb(200, 80, 10)");
    await page.getByRole("button", { name: "Take over" }).click();
    const clientId = await page.evaluate(() => (globalThis as never as Client).innkeeper.store.clientId);
    const ours = { kind: "client", clientId };
    await act(page, "x:/term", 1e9 + 1, { type: "terminal/claimed", claim: ours });
    await act(page, "ahp-root://", 1e9 + 2, { type: "root/terminalsChanged", terminals: [{ resource: "x:/term", title: "bash", claim: ours, lifecycle }] });
    await act(page, "x:/term", 1e9 + 3, { type: "terminal/data", data: "ready> " });
    await page.locator(".xterm-rows").getByText("ready>").waitFor();
    await page.locator(".xterm-helper-textarea").focus();
    await page.keyboard.type("ls");
    const typed = () =>
      page.evaluate(() => (globalThis as never as Client).innkeeper.sent.flatMap((own) => ("data" in own ? [own.data] : [])).join(""));
    await expect.poll(typed).toBe("ls");
    const resized = await page.evaluate(() => (globalThis as never as Client).innkeeper.sent.some((own) => "cols" in own));
    expect(resized).toBe(true);
  });
});
