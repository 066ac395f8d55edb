// What touches the host's machine: terminals, commands in a conversation, and
// the picker of directories. All of it is real.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Page } from "playwright-core";
import { axeFindings, entries, hostAndBrowser, newSession, play, send } from "./harness";

const inn = hostAndBrowser();
const { open } = inn;
const screen = (page: Page) => page.locator(".pane .xterm-rows");

/** Terminals belong to the host: the next test must not find this one's. */
function closesTerminals(page: Page): void {
  onTestFinished(async () => {
    if (page.isClosed()) return;
    await page.evaluate(async () => {
      interface Client {
        innkeeper: {
          store: { getState(): { root?: { terminals?: { resource: string }[] } } };
          connection: { request(method: string, params: object): Promise<unknown> };
        };
      }
      const { store, connection } = (globalThis as never as Client).innkeeper;
      const terminals = store.getState().root?.terminals ?? [];
      await Promise.all(terminals.map(({ resource }) => connection.request("disposeTerminal", { channel: resource })));
    });
  });
}

async function openTerminal(page: Page): Promise<void> {
  closesTerminals(page);
  await page.getByRole("button", { name: "Terminals", exact: true }).click();
  await page.getByRole("button", { name: "New terminal" }).click();
  await page.locator(".pane .xterm-helper-textarea:focus").waitFor({ state: "attached" });
}

/** Types a command whose output cannot be mistaken for what was typed. */
async function compute(page: Page, sum: string): Promise<void> {
  await page.keyboard.type(`echo "is $((${sum}))"\n`);
}

describe("terminals", () => {
  test.each(["light", "dark"] as const)("axe finds nothing serious, %s", async (colorScheme) => {
    const page = await open("#/", { colorScheme });
    await newSession(page);
    await page.getByRole("button", { name: "Terminals", exact: true }).click();
    await page.getByText("No terminals are open").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    closesTerminals(page);
    await page.getByRole("button", { name: "New terminal" }).click();
    await page.locator(".pane .xterm-helper-textarea:focus").waitFor({ state: "attached" });
    await compute(page, "3 + 4");
    await screen(page).getByText("is 7").waitFor();
    expect(await axeFindings(page)).toEqual([]);
  });

  test("one is opened, typed into, and closed", async () => {
    const page = await open();
    await newSession(page);
    await openTerminal(page);
    await compute(page, "40 + 2");
    await screen(page).getByText("is 42").waitFor();
    await page.getByRole("button", { name: /^Close (?!Terminals)/ }).click();
    await page.getByText("No terminals are open").waitFor();
  });

  test("the shell knows how large the window is", async () => {
    const page = await open();
    await newSession(page);
    await openTerminal(page);
    // Not the width that it was opened with: that of the window.
    await expect.poll(() => columns(page)).not.toBe(80);
    const wide = await columns(page);
    await page.setViewportSize({ width: 1000, height: 700 });
    await expect.poll(() => columns(page)).toBeLessThan(wide);
  });

  test("it follows the page when that turns dark", async () => {
    const page = await open();
    await newSession(page);
    await openTerminal(page);
    const shade = () => page.locator(".pane .xterm-scrollable-element").evaluate((element) => getComputedStyle(element).backgroundColor);
    const light = await shade();
    await page.emulateMedia({ colorScheme: "dark" });
    await expect.poll(shade).not.toBe(light);
  });

  test("another client sees it at once, and can take it over", async () => {
    const first = await open();
    await newSession(first);
    await openTerminal(first);
    await compute(first, "1200 + 34");
    const second = await open(new URL(first.url()).hash);
    closesTerminals(second);
    await screen(second).getByText("is 1234").waitFor();
    await second.locator(".pane .xterm-screen").click();
    await compute(second, "2300 + 45");
    await screen(first).getByText("is 2345").waitFor();
    await first.context().close();
    const bar = second.getByRole("button", { name: "Take over" });
    // The host may still believe in the one that has just left.
    await expect
      .poll(async () => {
        // It may go between the look and the click.
        if (await bar.isVisible()) await bar.click({ timeout: 1000 }).catch(() => {});
        return isHeldBy(second);
      })
      .toBe(true);
  });

  test("a command that is taken over stands with the chat until somebody stops it", async () => {
    const page = await open();
    closesTerminals(page);
    await newSession(page);
    await send(page, "!echo up; sleep 1000");
    await page.getByRole("button", { name: "Terminals", exact: true }).click();
    await screen(page).getByText("up").waitFor();
    await page.getByRole("button", { name: "Take over" }).click();
    const background = page.getByRole("region", { name: "Running in the background" });
    await background.getByText("echo up; sleep 1000").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await background.getByRole("button", { name: "Stop" }).click();
    await background.waitFor({ state: "detached" });
  });

  test("one key leads out of it, and every other belongs to the shell", async () => {
    const page = await open();
    await newSession(page);
    await openTerminal(page);
    await page.keyboard.press("Control+KeyK");
    // What a plain shell has taken as part of its line goes.
    await page.keyboard.press("Control+KeyU");
    await page.keyboard.press("F6");
    await page.locator("[data-composer]:focus").waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
    await page.keyboard.press("F6");
    await compute(page, "5 + 6");
    await screen(page).getByText("is 11").waitFor();
  });
});

/** How wide the host believes the terminal to be. */
function columns(page: Page): Promise<number> {
  return page.evaluate(() => {
    interface Client {
      innkeeper: { store: { unconfirmed(): unknown[]; getState(): { channels: Map<string, { kind: string; state: { cols?: number } }> } } };
    }
    const { store } = (globalThis as never as Client).innkeeper;
    if (store.unconfirmed().length > 0) return Number.POSITIVE_INFINITY;
    const terminal = [...store.getState().channels.values()].find(({ kind }) => kind === "terminal");
    return terminal?.state.cols ?? Number.POSITIVE_INFINITY;
  });
}

/** Whether the host has confirmed that this page holds its terminal. */
function isHeldBy(page: Page): Promise<boolean> {
  return page.evaluate(() => {
    interface Terminal {
      kind: string;
      state: { claim?: { clientId?: string } };
    }
    interface Client {
      innkeeper: {
        store: { clientId: string; unconfirmed(): { action: { type: string } }[]; getState(): { channels: Map<string, Terminal> } };
      };
    }
    const { store } = (globalThis as never as Client).innkeeper;
    const terminal = [...store.getState().channels.values()].find(({ kind }) => kind === "terminal");
    // The host says nothing to a size that the terminal has already.
    const isAsked = store.unconfirmed().some(({ action }) => action.type === "terminal/claimed");
    return !isAsked && terminal?.state.claim?.clientId === store.clientId;
  });
}

describe("commands in a conversation", () => {
  test("an exclamation mark runs a command, live and then as its output", async () => {
    const page = await open();
    await newSession(page);
    await page.locator("[data-composer]").fill("!x");
    await page.locator(".composer.shell").waitFor();
    await send(page, '!echo "is $((7 * 6))"; read -r answer; echo "got $answer"; exit 3');
    await page.locator(".bash .xterm-rows").getByText("is 42").waitFor();
    await page.getByRole("button", { name: "Terminals", exact: true }).click();
    await screen(page).getByText("is 42").waitFor();
    await page.locator(".pane .xterm-screen").click();
    await page.keyboard.type("an answer\n");
    await page.locator(".turn-footer").waitFor();
    const words = await entries(page, "bash").innerText();
    expect(words).toContain("got an answer");
    expect(words).toContain("exit 3");
  });

  test("stopping the turn ends the command", async () => {
    const page = await open();
    await newSession(page);
    await send(page, "!echo begun; sleep 600");
    await page.locator(".bash .xterm-rows").getByText("begun").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator(".turn-footer", { hasText: "Stopped" }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
  });

  test("what an agent ran looks the same after a restart of the page", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "terminal");
    await page.locator(".tool-head").click();
    const before = await page.locator(".tool").innerText();
    await page.reload();
    await page.locator(".turn-footer").waitFor();
    await page.locator(".tool-head").click();
    expect(await page.locator(".tool").innerText()).toBe(before);
    expect(before).toContain("hello from a terminal");
  });
});

describe("the picker of directories", () => {
  test("leads through the host's directories by keyboard, and the session works there", async () => {
    mkdirSync(join(inn.host.directory, "cellar", "wine"), { recursive: true });
    const page = await open("#/new");
    await page.getByRole("button", { name: "Browse" }).click();
    const filter = page.getByLabel("Filter directories");
    await page.getByText("There are no directories in here").waitFor();
    await filter.press("Backspace");
    await page.getByRole("button", { name: "cellar" }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await filter.fill("cel");
    await filter.press("Enter");
    await page.locator(".directory-list").getByRole("button", { name: "wine" }).click();
    await page.getByText("There are no directories in here").waitFor();
    await page.getByRole("button", { name: "Choose this directory" }).click();
    expect(await page.getByLabel("Directory", { exact: true }).inputValue()).toBe(join(inn.host.directory, "cellar", "wine"));
    await page.getByRole("button", { name: "Start session" }).click();
    await page.locator("[data-composer]").waitFor();
    await play(page, "!pwd");
    expect(await entries(page, "bash").innerText()).toContain("cellar/wine");
  });

  test("says why a place cannot be looked into", async () => {
    const page = await open("#/new");
    await page.getByLabel("Directory", { exact: true }).fill("/nowhere-at-all");
    await page.getByRole("button", { name: "Browse" }).click();
    await page.locator(".directory-picker [role=alert]").waitFor();
    expect(await page.getByRole("button", { name: "Choose this directory" }).isDisabled()).toBe(true);
    await page.getByRole("navigation", { name: "Path" }).getByRole("button", { name: "/", exact: true }).click();
    await page.locator(".directory-list button").first().waitFor();
  });
});
