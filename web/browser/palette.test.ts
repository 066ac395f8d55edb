// The command palette does all that buttons do: on every page, what can be
// pressed is found in it by its name, and pressed from there.

import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { hostAndBrowser, newSession, play, repositoryIn, scenario, send, sessionIn } from "./harness";

const at = hostAndBrowser();

/** The names of all buttons, as somebody hears them who cannot see the page. */
async function buttonsOf(page: Page): Promise<string[]> {
  const heard = await page.locator("body").ariaSnapshot();
  const names = [...heard.matchAll(/^ *- '?button "((?:[^"\\]|\\.)*)"([^\n]*)/gm)];
  return [...new Set(names.filter(([, , rest]) => !rest?.includes("[disabled]")).map(([, name = ""]) => name.replaceAll(/\\(.)/g, "$1")))];
}

async function openPalette(page: Page, query: string): Promise<void> {
  await page.keyboard.press("Control+KeyK");
  await page.locator(".palette input").fill(query);
}

const options = (page: Page) => page.locator(".palette [role=option]");

/** Those of the page's buttons that the palette does not know. */
async function missing(page: Page): Promise<string[]> {
  const names = (await buttonsOf(page)).filter((name) => !ELSEWHERE.some((pattern) => pattern.test(name)));
  const menus = await page.locator("button[aria-haspopup=menu]").evaluateAll((all) => all.map((button) => button.ariaLabel));
  const unknown: string[] = [];
  expect(names.length).toBeGreaterThan(0);
  for (const name of names) {
    const words = name.replace(/ Alt [YN]$/, "");
    await openPalette(page, words);
    const found = await options(page).allInnerTexts();
    // A menu is known by what is in it.
    const isKnown = found.some((text) => text.replace(/\s+/g, " ").includes(words) && !/^Search in all sessions for/.test(text));
    if (!isKnown) unknown.push(menus.includes(name) ? `${name} (menu)` : name);
    await page.keyboard.press("Escape");
    await page.locator(".palette").waitFor({ state: "detached" });
  }
  return unknown;
}

/** The palette itself, and what acts on one row of a list that the palette has row by row. */
const ELSEWHERE = [/^Search and commands/, /^Actions for /];

describe("what can be pressed is in the palette", () => {
  test.each(["#/", "#/inbox", "#/search", "#/settings", "#/automations", "#/new"])("on %s", async (path) => {
    const page = await at.open(path);
    expect(await missing(page)).toEqual([]);
  });

  test("in a session with a turn, its changes and its files", async () => {
    const page = await at.open("#/new");
    await sessionIn(page, repositoryIn(join(at.host.directory, "palette")));
    await play(page, "!echo salad >> menu.txt");
    expect(await missing(page)).toEqual([]);
    for (const pane of ["Changes", "Files", "Terminals"]) {
      await page.locator(".head-actions").getByRole("button", { name: pane, exact: true }).click();
      await page.locator(".pane").waitFor();
      await expect.poll(() => page.locator(".pane .skeletons").count()).toBe(0);
      expect(await missing(page), pane).toEqual([]);
    }
  });

  test("and at something that waits", async () => {
    const page = await at.open();
    await newSession(page);
    await send(page, scenario({ edit: { path: "menu.txt", content: "cake", confirm: "ask" } }));
    await page.locator("main [data-decision=approve]").first().waitFor();
    expect(await missing(page)).toEqual([]);
  });
});

test("what is chosen there happens: a button is pressed, and what is in a menu is done", async () => {
  const page = await at.open();
  await newSession(page);
  await play(page, "/hello");
  await openPalette(page, "hide sidebar");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.getByRole("button", { name: "Hide sidebar" }).count()).toBe(0);
  await openPalette(page, "take back this turn");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("button", { name: /Take back/ }).waitFor();
  await page.keyboard.press("Escape");
  await openPalette(page, "find in this conversation");
  await page.keyboard.press("Enter");
  await page.locator(".find-bar input").waitFor();
  await openPalette(page, "show files");
  await page.keyboard.press("Enter");
  await page.getByRole("navigation", { name: "Files of the session" }).waitFor();
});
