import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { axeFindings, entries, hostAndBrowser, newSession, play, repositoryIn, said, scenario, send } from "./harness";

const inn = hostAndBrowser();
const { open } = inn;
const row = (page: Page, title: string) => page.locator(".session-row", { hasText: title });

async function menu(page: Page, title: string, item: string): Promise<void> {
  await row(page, title).hover();
  await row(page, title).getByRole("button", { name: /Actions/ }).click();
  await page.getByRole("menuitem", { name: item }).click();
}

describe("sessions", () => {
  test("one is renamed, found by its name, archived and brought back", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "hello there");
    await menu(page, "hello there", "Rename…");
    await page.getByLabel("Title").fill("Porcelain");
    await page.getByLabel("Title").press("Enter");
    await row(page, "Porcelain").waitFor();
    await page.getByLabel("Search sessions").fill("porce");
    expect(await page.locator(".session-row").count()).toBe(1);
    await page.getByLabel("Search sessions").fill("");
    await menu(page, "Porcelain", "Archive");
    await expect.poll(() => row(page, "Porcelain").count()).toBe(0);
    await page.getByRole("button", { name: /Archived/ }).click();
    await menu(page, "Porcelain", "Unarchive");
    await row(page, "Porcelain").waitFor();
  });

  test("a deletion can be undone", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "keep me");
    await menu(page, "keep me", "Delete");
    await expect.poll(() => row(page, "keep me").count()).toBe(0);
    await page.getByRole("button", { name: "Undo" }).click();
    await row(page, "keep me").waitFor();
  });

  test("those that need somebody stand first, whichever is open", async () => {
    const page = await open();
    await newSession(page);
    await send(page, scenario({ title: "Needy" }, { tool: { name: "x", input: {}, confirm: "ask", result: { success: true } } }));
    await page.locator(".approval").waitFor();
    await newSession(page);
    await play(page, "quiet one");
    await expect.poll(() => page.locator(".session-row").first().innerText()).toContain("Needy");
    await page.getByRole("heading", { name: /Needs you/ }).waitFor();
  });

  test("a link leads straight to a session", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "linked words");
    const url = page.url();
    await page.goto("about:blank");
    await page.goto(url);
    await page.locator(".user-bubble", { hasText: "linked words" }).waitFor();
  });

  test("a chat is forked from a turn", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "first turn");
    await play(page, "second turn");
    await entries(page, "assistant").first().hover();
    await page.getByRole("button", { name: "More about this turn" }).first().click();
    await page.getByRole("menuitem", { name: "Fork from here" }).click();
    await page.waitForURL(/chat=/);
    await expect.poll(() => page.locator(".user-bubble").allInnerTexts()).toEqual(["first turn"]);
    await play(page, "another way");
    expect(await entries(page, "user").count()).toBe(2);
  });

  test("a session is forked with its history", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "the original words");
    const before = page.url();
    await page.getByRole("button", { name: "Session actions" }).click();
    await page.getByRole("menuitem", { name: "Fork into a new session" }).click();
    await page.waitForURL((url) => url.href !== before);
    await page.locator(".user-bubble", { hasText: "the original words" }).waitFor();
    await play(page, scenario({ echo: "history" }));
    expect(await entries(page, "assistant").last().innerText()).toContain('"turns"');
  });

  test("several work at once", async () => {
    const page = await open();
    const urls: string[] = [];
    for (const name of ["alpha", "beta"]) {
      await newSession(page);
      await send(page, scenario({ title: name }, { say: `${name} began` }, { awaitSteering: true }));
      await said(page, `${name} began`).waitFor();
      urls.push(page.url());
    }
    await expect.poll(() => page.locator(".dot-working").count()).toBeGreaterThanOrEqual(2);
    for (const url of urls) {
      await page.goto(url);
      await page.locator("[data-composer]").waitFor();
      await send(page, "go on");
      await page.locator(".turn-footer").waitFor();
    }
  });

  test("a session's settings are changed while it lives", async () => {
    const page = await open();
    await newSession(page);
    await page.getByRole("button", { name: "Session actions" }).click();
    await page.getByRole("menuitem", { name: /Details/ }).click();
    await page.locator(".pane").getByLabel("Approvals").selectOption({ index: 1 });
    await play(page, scenario({ echo: "config" }));
    expect(await entries(page, "assistant").innerText()).toContain("autoApprove\":\"autoApprove");
  });

  test("a setting with too many values to list suggests those that fit what is typed", async () => {
    const directory = repositoryIn(join(inn.host.directory, "branches"));
    for (const name of ["feature/inn", "feature/keeper", "other"]) execFileSync("git", ["-C", directory, "branch", name]);
    const page = await open("#/new");
    await page.getByLabel("Directory", { exact: true }).fill(directory);
    await page.getByLabel("Isolation").selectOption('"worktree"');
    const branch = page.getByLabel("Branch");
    await branch.fill("feat");
    const list = await branch.getAttribute("list");
    const suggested = () => page.locator(`[id="${list}"] option`).evaluateAll((all) => all.map((option) => (option as HTMLOptionElement).value));
    await expect.poll(suggested).toEqual(["feature/inn", "feature/keeper"]);
  });

  test("a skill of the project is found, and switched off for this session", async () => {
    const skill = join(inn.host.directory, "brewery/.agents/skills/brew");
    mkdirSync(skill, { recursive: true });
    writeFileSync(join(skill, "SKILL.md"), "---\nname: brew\ndescription: Brews beer\n---\nBoil it.\n");
    const page = await open("#/new");
    await page.getByLabel("Directory", { exact: true }).fill(join(inn.host.directory, "brewery"));
    await page.getByRole("button", { name: "Start session" }).click();
    await page.getByRole("button", { name: "Session actions" }).click();
    await page.getByRole("menuitem", { name: /Details/ }).click();
    const toggle = page.getByRole("checkbox", { name: /^brew/ });
    expect(await toggle.isChecked()).toBe(true);
    await toggle.uncheck();
    const unconfirmed = () =>
      page.evaluate(() => (globalThis as never as { innkeeper: { store: { unconfirmed(): unknown[] } } }).innkeeper.store.unconfirmed().length);
    await expect.poll(unconfirmed).toBe(0);
    await page.reload();
    await toggle.waitFor();
    expect(await toggle.isChecked()).toBe(false);
    expect(await axeFindings(page)).toEqual([]);
  });
});
