// Pictures of the main views, for the documentation: `npm run screenshots`.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { BrowserContextOptions, Page } from "playwright-core";
import { hostAndBrowser, newSession, play, repositoryIn, scenario, send, sessionIn } from "./harness";

const inn = hostAndBrowser();
const { open } = inn;
const directory = new URL("../../docs/images/", import.meta.url).pathname;
const desktop = { viewport: { width: 1180, height: 760 } };
const phone = { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true };

async function shoot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: `${directory}${name}.png`, animations: "disabled", caret: "hide" });
}

async function furnish(page: Page): Promise<void> {
  for (const words of ["tour", "subagent", "hello"]) {
    await newSession(page);
    await play(page, words);
  }
  await newSession(page);
  await send(page, "ask");
  await page.locator(".question-form").waitFor();
  await newSession(page);
  await play(page, "tools");
  await send(page, "confirm");
  await page.locator(".approval").waitFor();
}

/** A session that has changed files, beside what it has changed. */
async function change(page: Page): Promise<void> {
  await page.goto(`${page.url().split("#")[0]}#/new`);
  await sessionIn(page, repositoryIn(join(inn.host.directory, "kitchen")));
  const write = (path: string, content: string) => ({ edit: { path, content } });
  await play(page, scenario({ title: "A better menu" }, { say: "Cake instead of bread, and a list of wines." }, write("menu.txt", "soup\ncake\n"), write("cellar/wines.md", "# Wines\n\n- red\n- white\n")));
  await page.getByRole("button", { name: "Changes" }).click();
  await page.locator(".changes .diff-added").first().waitFor();
}

/** One prompt, tried twice, with what each did to a file. */
async function attempts(page: Page): Promise<string> {
  await page.evaluate((path) => localStorage.setItem("innkeeper.directory", path), repositoryIn(join(inn.host.directory, "pantry")));
  await page.goto(`${page.url().split("#")[0]}#/start?attempts=2`);
  await page.reload();
  await page.getByRole("button", { name: /^Model of attempt 2/ }).click();
  await page.getByRole("menuitemradio", { name: /large/i }).click();
  await page.locator("[data-composer]").fill(scenario({ title: "A better menu" }, { edit: { path: "menu.txt", content: "soup\ncake\n" } }, { say: "There is **cake** instead of bread now." }));
  await page.locator("[data-composer]").press("Enter");
  await page.waitForURL(/#\/attempts\//);
  for (const number of [0, 1]) await page.locator(".attempt").nth(number).getByText("in 1 file").waitFor();
  return page.url();
}

test("pictures", async () => {
  mkdirSync(directory, { recursive: true });
  const first = await open("#/", desktop);
  await change(first);
  const tried = await attempts(first);
  await furnish(first);
  const views: [string, string, BrowserContextOptions][] = [
    ["attempts-light", tried, { ...desktop, colorScheme: "light" }],
    ["home-light", "#/start", { ...desktop, colorScheme: "light" }],
    ["inbox-light", "#/inbox", { ...desktop, colorScheme: "light" }],
    ["sessions-phone", "#/", { ...phone, colorScheme: "light" }],
    ["new-session-dark", "#/new", { ...desktop, colorScheme: "dark" }],
    ["settings-light", "#/settings", { ...desktop, colorScheme: "light" }],
  ];
  for (const [name, where, options] of views) {
    const page = await open(new URL(where, "http://x/").hash, options);
    await page.locator(".approval, .inbox li, .session-row, main h1").first().waitFor();
    if (where === tried) {
      await page.locator(".attempt-files button").first().click();
      for (const number of [0, 1]) await page.locator(".attempt").nth(number).locator(".diff-added").waitFor();
    }
    await page.waitForLoadState("networkidle");
    await expect.poll(() => page.getByText("Loading the change").count()).toBe(0);
    await shoot(page, name);
  }
});
