// What a session changes, with a real git behind the real host.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { axeFindings, hostAndBrowser, play, repositoryIn, scenario, sessionIn } from "./harness";

const inn = hostAndBrowser();
const { open } = inn;
const repository = (name: string) => repositoryIn(join(inn.host.directory, name));

const change = scenario({ edit: { path: "menu.txt", content: "soup\ncake\n" } });

async function decide(page: Page, operation: string): Promise<void> {
  await page.locator(".changes").getByRole("button", { name: operation }).first().click();
  await page.getByRole("dialog").getByRole("button", { name: operation }).click();
}

describe("changes in a repository", () => {
  test.each(["light", "dark"] as const)("axe finds nothing serious, %s", async (colorScheme) => {
    const page = await open("#/new", { colorScheme });
    await sessionIn(page, repository(colorScheme));
    await play(page, change);
    await page.getByRole("button", { name: "Changes" }).click();
    await page.locator(".changes .diff-added", { hasText: "cake" }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
  });

  test("what a turn did is shown, line by line, and what others do meanwhile", async () => {
    const directory = repository("shown");
    const page = await open("#/new");
    await sessionIn(page, directory);
    await page.getByRole("button", { name: "Changes" }).click();
    await page.getByText("Nothing has changed").waitFor();
    await page.locator(".git-branch", { hasText: /^main$/ }).waitFor();
    await play(page, change);
    await page.locator(".git-branch", { hasText: "main*" }).waitFor();
    await page.locator(".changes .diff-removed", { hasText: "bread" }).waitFor();
    await page.locator(".changes .diff-added", { hasText: "cake" }).waitFor();
    writeFileSync(join(directory, "wine.txt"), "red\n");
    await page.locator(".file-tree").getByText("wine.txt").waitFor();
  });

  test("a change is discarded after a question, and that can be taken back", async () => {
    const directory = repository("discarded");
    const page = await open("#/new");
    await sessionIn(page, directory);
    await play(page, change);
    await page.getByRole("button", { name: "Changes" }).click();
    await page.locator(".changes .diff-added", { hasText: "cake" }).waitFor();
    await decide(page, "Discard");
    await page.getByText("Nothing has changed").waitFor();
    const menu = () => readFileSync(join(directory, "menu.txt"), "utf8");
    expect(menu()).toBe("soup\nbread\n");
    await decide(page, "Undo");
    await page.locator(".changes .diff-added", { hasText: "cake" }).waitFor();
    expect(menu()).toBe("soup\ncake\n");
  });

  test("one place of a file is discarded by the keyboard, and the others stay", async () => {
    const directory = repository("place");
    const menu = () => readFileSync(join(directory, "menu.txt"), "utf8");
    const old = Array.from({ length: 20 }, (_, at) => `dish ${at}`);
    writeFileSync(join(directory, "menu.txt"), `${old.join("\n")}\n`);
    execFileSync("git", ["commit", "-qam", "a longer menu"], { cwd: directory });
    const content = `${["soup", ...old.slice(1, -1)].join("\n")}\n`;
    const page = await open("#/new");
    await sessionIn(page, directory);
    await play(page, scenario({ edit: { path: "menu.txt", content } }));
    await page.getByRole("button", { name: "Changes" }).click();
    await page.locator(".changes .diff-added", { hasText: "soup" }).waitFor();
    const discard = (lines: string) => page.locator(".diff").getByRole("button", { name: `Discard ${lines}`, exact: true });
    // The last line is gone: it is called by its number before.
    await discard("line 20").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
    await expect.poll(menu).toBe(`${content}dish 19\n`);
    await expect.poll(() => discard("line 20").count()).toBe(0);
    await page.getByRole("button", { name: "Side by side" }).click();
    await discard("line 1").click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    expect(menu()).toBe(`${content}dish 19\n`);
    await discard("line 1").click();
    await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
    await page.getByText("Nothing has changed").waitFor();
    expect(menu()).toBe(`${old.join("\n")}\n`);
  });

  test("changes are committed after a question", async () => {
    const directory = repository("committed");
    const page = await open("#/new");
    await sessionIn(page, directory);
    await play(page, change);
    await page.getByRole("button", { name: "Changes" }).click();
    await page.locator(".changes .diff-added", { hasText: "cake" }).waitFor();
    await decide(page, "Commit");
    await page.getByText("Nothing has changed").waitFor();
    const log = execFileSync("git", ["show", "--format=", "HEAD"], { cwd: directory, encoding: "utf8" });
    expect(log).toContain("+cake");
  });

  test("the changes of one turn are chosen by the menu", async () => {
    const directory = repository("chosen");
    const page = await open("#/new");
    await sessionIn(page, directory);
    await play(page, change);
    await play(page, scenario({ edit: { path: "second.txt", content: "x\n" } }));
    await page.getByRole("button", { name: "Changes" }).click();
    await page.locator(".file-tree").getByText("menu.txt").waitFor();
    await page.getByRole("button", { name: /^Which changes/ }).click();
    await page.getByRole("menuitemradio", { name: /turn/i }).first().click();
    await page.locator(".file-tree").getByText("second.txt").waitFor();
    await expect.poll(() => page.locator(".file-tree").getByText("menu.txt").count()).toBe(0);
  });
});
