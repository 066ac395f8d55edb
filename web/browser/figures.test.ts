// What things cost, in CPU time of the page's own thread: a busy machine makes
// that later, not larger. The states are made up in the page.

import { describe, expect, test } from "vitest";
import type { CDPSession, Page } from "playwright-core";
import { hostAndBrowser } from "./harness";

const { open } = hostAndBrowser();

interface Client {
  innkeeper: {
    store: {
      handleServerEvent(event: object): void;
      flush(): void;
    };
    connection: { request: (method: string, params: { uri: string }) => Promise<unknown> };
  };
}

async function meter(page: Page): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return session;
}

/** CPU milliseconds of the page's main thread so far. */
async function spent(session: CDPSession): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0) * 1000;
}

async function nodes(page: Page): Promise<number> {
  return page.evaluate(() => document.querySelectorAll("*").length);
}

function report(what: string, figure: number, limit: number): void {
  console.log(`${what}: ${figure.toFixed(1)} (at most ${limit})`);
  // Times depend on the machine and on what else it does: only one that is far off fails.
  const slack = what.includes("ms") ? 4 : 1;
  expect(figure).toBeLessThanOrEqual(limit * slack);
}

/** Puts a session with this chat into the page, as if the host had sent it. */
async function show(page: Page, made: { turns: number; text?: string }): Promise<void> {
  await page.evaluate(({ turns, text }) => {
    const { store } = (globalThis as never as Client).innkeeper;
    const at = "2026-01-01T00:00:00.000Z";
    const message = (words: string) => ({ text: words, origin: { kind: "user" } });
    const chat = {
      resource: "x:/chat",
      title: "",
      status: 1,
      modifiedAt: at,
      turns: Array.from({ length: turns }, (_, index) => ({
        id: `t${index}`,
        startedAt: at,
        duration: 1,
        message: message(`Question ${index}`),
        responseParts: [{ kind: "markdown", id: "p", content: `Answer **${index}** with \`code\`\n\nand a second paragraph.` }],
        state: "complete",
      })),
      ...(text === undefined
        ? {}
        : { activeTurn: { id: "a", startedAt: at, message: message("go"), responseParts: [{ kind: "markdown", id: "p", content: text }] } }),
    };
    const session = {
      provider: "script",
      title: "Figures",
      status: 33,
      lifecycle: "ready",
      activeClients: [],
      chats: [{ resource: "x:/chat", title: "", status: 1, modifiedAt: at }],
      defaultChat: "x:/chat",
      changesets: [{ label: "All", uriTemplate: "x:/changes", changeKind: "session" }],
    };
    store.handleServerEvent({ type: "snapshot", snapshot: { resource: "x:/session", state: session, fromSeq: 0 } });
    store.handleServerEvent({ type: "snapshot", snapshot: { resource: "x:/chat", state: chat, fromSeq: 0 } });
    store.flush();
    location.hash = "#/s/x%3A%2Fsession";
  }, made);
  await page.locator(".entry").first().waitFor();
}

/** Streams tokens at 1,000 a second, a frame at a time; CPU for each flush. */
async function streamed(page: Page, session: CDPSession, token: string): Promise<number> {
  const frames = 90;
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  const before = await spent(session);
  await page.evaluate(
    async ({ frames: count, token: content }) => {
      const { store } = (globalThis as never as Client).innkeeper;
      let serverSeq = 1000;
      for (let frame = 0; frame < count; frame++) {
        for (let n = 0; n < 17; n++) {
          const action = { type: "chat/delta", turnId: "a", partId: "p", content };
          store.handleServerEvent({ type: "action", envelope: { channel: "x:/chat", action, serverSeq: ++serverSeq } });
        }
        await new Promise((resolve) => requestAnimationFrame(resolve));
        store.flush();
      }
    },
    { frames, token },
  );
  return ((await spent(session)) - before) / frames;
}

const prose = (bytes: number) => "Some words of **prose** with `code` in them, as answers have.\n\n".repeat(Math.ceil(bytes / 64)).slice(0, bytes);

describe("streaming 1,000 tokens a second", () => {
  test.each([
    ["into a turn of 100 KB", () => prose(100_000), 10],
    ["into a turn of 1 MB", () => prose(1_000_000), 16],
    ["into an open fence of 500 KB in a turn of 1 MB", () => `${prose(500_000)}\n\n\`\`\`rust\n${"    let line = of(code);\n".repeat(20_000)}`, 16],
    ["into a line without an end", () => "word ".repeat(40_000), 16],
  ])("%s", async (what, text, limit) => {
    const page = await open();
    const session = await meter(page);
    await show(page, { turns: 3, text: text() });
    report(`CPU ms a flush, ${what}`, await streamed(page, session, " token"), limit);
  });

  test("at the end of 10,000 turns", async () => {
    const page = await open();
    const session = await meter(page);
    await show(page, { turns: 10_000, text: "An answer that has just begun." });
    report("CPU ms a flush, at the end of 10,000 turns", await streamed(page, session, " token"), 16);
  });
});

describe("10,000 turns", () => {
  test("are painted, hold few nodes, and leave typing alone", async () => {
    const page = await open();
    const session = await meter(page);
    const before = await spent(session);
    await show(page, { turns: 10_000 });
    await page.getByText("Question 9999").waitFor();
    report("CPU ms to the first paint of 10,000 turns", (await spent(session)) - before, 500);
    report("DOM nodes with 10,000 turns", await nodes(page), 1500);
    const typing = await spent(session);
    await page.locator("[data-composer]").pressSequentially("forty letters are typed into the editor.");
    report("CPU ms a keystroke with 10,000 turns", ((await spent(session)) - typing) / 40, 10);
  });
});

describe("1,000 sessions", () => {
  test("are listed, follow the host, and are filtered", async () => {
    const page = await open();
    const session = await meter(page);
    const before = await spent(session);
    await page.evaluate(() => {
      const { store } = (globalThis as never as Client).innkeeper;
      const items = Array.from({ length: 1000 }, (_, index) => ({
        resource: `x:/many/${index}`,
        provider: "script",
        title: `Errand ${index}`,
        status: 33,
        createdAt: "2026-01-01T00:00:00.000Z",
        modifiedAt: new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString(),
      }));
      store.handleServerEvent({ type: "sessions", items, first: true, last: true });
      store.flush();
    });
    const rows = page.locator(".session-row");
    await rows.getByText("Errand 999", { exact: true }).waitFor();
    report("CPU ms to list 1,000 sessions", (await spent(session)) - before, 300);
    report("DOM nodes with 1,000 sessions", await nodes(page), 1500);
    const working = await spent(session);
    const changes = 50;
    await page.evaluate(async (count) => {
      const { store } = (globalThis as never as Client).innkeeper;
      for (let index = 0; index < count; index++) {
        store.handleServerEvent({ type: "sessionSummaryChanged", session: `x:/many/${index}`, changes: { activity: `Step ${index}`, status: 40 } });
        store.flush();
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
    }, changes);
    report("CPU ms a change of one among 1,000 sessions", ((await spent(session)) - working) / changes, 16);
    const typing = await spent(session);
    await page.getByPlaceholder("Filter sessions").pressSequentially("errand 512");
    await expect.poll(() => rows.count()).toBe(1);
    report("CPU ms a letter of the filter with 1,000 sessions", ((await spent(session)) - typing) / 10, 16);
  });
});

test("a diff of 5,000 lines opens", async () => {
  const page = await open();
  const session = await meter(page);
  await show(page, { turns: 1 });
  await page.evaluate(() => {
    const { store, connection } = (globalThis as never as Client).innkeeper;
    const before = Array.from({ length: 5000 }, (_, index) => `line ${index} of the file before`).join("\n");
    const after = Array.from({ length: 5000 }, (_, index) => `line ${index} of the file ${index % 3 ? "before" : "after"}`).join("\n");
    connection.request = (_, { uri }) => Promise.resolve({ data: uri.endsWith("before") ? before : after, encoding: "utf-8" });
    const edit = { before: { uri: "file:///a.txt", content: { uri: "x:/before" } }, after: { uri: "file:///a.txt", content: { uri: "x:/after" } } };
    const state = { status: "ready", files: [{ id: "a", edit }] };
    store.handleServerEvent({ type: "snapshot", snapshot: { resource: "x:/changes", state, fromSeq: 0 } });
  });
  const before = await spent(session);
  await page.getByRole("button", { name: "Changes" }).click();
  await page.locator(".diff-row").first().waitFor();
  report("CPU ms to open a diff of 5,000 lines", (await spent(session)) - before, 200);
  // The host does not know this session, and says so above the difference.
  await page.getByRole("button", { name: "Side by side" }).press("Enter");
  await page.locator(".diff-split").waitFor();
});
