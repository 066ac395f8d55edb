// Turns as checkpoints: what was said is said otherwise, and taken back with
// what became of it.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { axeFindings, hostAndBrowser, play, playLong, repositoryIn, scenario, sessionIn } from "./harness";

const inn = hostAndBrowser();
const bubbles = (page: Page) => page.locator(".user-bubble").allInnerTexts();

async function withTurns(name: string): Promise<{ page: Page; menu: () => string }> {
  const directory = repositoryIn(join(inn.host.directory, name));
  const page = await inn.open("#/new");
  await sessionIn(page, directory);
  await play(page, "the first");
  await play(page, scenario({ edit: { path: "menu.txt", content: "soup\ncake\n" } }));
  return { page, menu: () => readFileSync(join(directory, "menu.txt"), "utf8") };
}

async function choose(page: Page, item: string): Promise<void> {
  await page.getByRole("button", { name: "More about this turn" }).last().click();
  await page.getByRole("menuitem", { name: item }).click();
}

describe("a turn", () => {
  test("is taken back with its files, its words are in the editor, and that can be undone", async () => {
    const { page, menu } = await withTurns("taken");
    await choose(page, "Take back this turn");
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole("dialog").getByRole("button", { name: "Take back" }).click();
    await expect.poll(() => bubbles(page)).toEqual(["the first"]);
    expect(menu()).toBe("soup\nbread\n");
    await expect.poll(() => page.locator("[data-composer]").inputValue()).toContain("cake");
    await page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(async () => (await bubbles(page)).length).toBe(2);
    await expect.poll(menu).toBe("soup\ncake\n");
  });

  test("is taken back without its files, if they are to stay", async () => {
    const { page, menu } = await withTurns("files");
    await choose(page, "Take back this turn");
    await page.getByLabel("Return files").uncheck();
    await page.getByRole("dialog").getByRole("button", { name: "Take back" }).click();
    await expect.poll(() => bubbles(page)).toEqual(["the first"]);
    expect(menu()).toBe("soup\ncake\n");
  });

  test("is said otherwise, and what followed it goes", async () => {
    const { page, menu } = await withTurns("edited");
    await page.locator(".entry-user").first().hover();
    await page.getByRole("button", { name: "Edit and send again" }).first().click();
    await page.getByRole("dialog").getByRole("textbox").fill("the first, otherwise");
    await page.getByRole("dialog").getByRole("button", { name: "Send" }).click();
    await expect.poll(() => bubbles(page)).toEqual(["the first, otherwise"]);
    await page.locator(".turn-footer").waitFor();
    expect(menu()).toBe("soup\nbread\n");
  });

  test("is sent again as it was", async () => {
    const { page } = await withTurns("again");
    await choose(page, "Send this message again");
    await expect.poll(async () => (await bubbles(page)).length).toBe(3);
  });

  test("leads to its changes, whichever turn it is", async () => {
    const { page } = await withTurns("changes");
    await playLong(page, scenario({ edit: { path: "other.txt", content: "x\n" } }));
    const turn = page.locator(".entry-tool", { hasText: "menu.txt" });
    await turn.hover();
    await turn.getByRole("link", { name: "Changes of this turn" }).click();
    await page.locator(".file-tree").getByText("menu.txt").waitFor();
    expect(await page.locator(".file-tree").getByText("other.txt").count()).toBe(0);
  });
});
