// Several attempts of one prompt, with a real git behind the real host.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { axeFindings, hostAndBrowser, repositoryIn, scenario } from "./harness";

const inn = hostAndBrowser();

const menuOf = (directory: string) => readFileSync(join(directory, "menu.txt"), "utf8");
const card = (page: Page, number: number) => page.getByRole("article", { name: `Attempt ${number}` });
const cake = scenario({ edit: { path: "menu.txt", content: "soup\ncake\n" } }, { say: "There is **cake** now." });

/** Begins attempts in a repository of their own, and waits for their end. */
async function tried(name: string, attempts: number, prompt = cake, options?: Parameters<typeof inn.open>[1]): Promise<{ page: Page; directory: string }> {
  const directory = repositoryIn(join(inn.host.directory, name));
  const page = await inn.open("#/start", options);
  await page.evaluate((path) => localStorage.setItem("innkeeper.directory", path), directory);
  await page.reload();
  await page.locator("main").getByRole("button", { name: /^Attempts/ }).click();
  await page.getByRole("menuitemradio", { name: new RegExp(`^${attempts} attempts`) }).click();
  await page.locator("[data-composer]").fill(prompt);
  await page.getByRole("button", { name: "Send and start session" }).click();
  await page.waitForURL(/#\/attempts\//);
  for (let number = 1; number <= attempts; number++) await card(page, number).locator(".badge", { hasText: "Done" }).waitFor();
  return { page, directory };
}

describe("attempts", () => {
  test("work side by side without touching the folder, and show what each did to a file", async () => {
    const { page, directory } = await tried("compared", 3);
    expect(await page.getByRole("article").count()).toBe(3);
    for (const number of [1, 2, 3]) {
      await card(page, number).getByText("There is cake now.").waitFor();
      await card(page, number).getByText("in 1 file").waitFor();
    }
    expect(menuOf(directory)).toBe("soup\nbread\n");
    await card(page, 2).getByRole("button", { name: /menu\.txt/ }).click();
    for (const number of [1, 2, 3]) await card(page, number).locator(".diff-added", { hasText: "cake" }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
  });

  test("are kept after a question: the folder has the changes, and the others are archived", async () => {
    const { page, directory } = await tried("kept", 2);
    await card(page, 2).getByRole("button", { name: "Keep this one" }).click();
    const dialog = page.getByRole("dialog", { name: "Keep attempt 2" });
    await dialog.getByText(directory).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(menuOf(directory)).toBe("soup\nbread\n");
    await card(page, 2).getByRole("button", { name: "Keep this one" }).click();
    await dialog.getByRole("button", { name: "Keep attempt 2" }).click();
    await card(page, 2).locator(".badge", { hasText: "Kept" }).waitFor();
    await card(page, 1).locator(".badge", { hasText: "Archived" }).waitFor();
    expect(menuOf(directory)).toBe("soup\ncake\n");
  });

  test("are not kept where the folder has changed in the same place, and the others stay", async () => {
    const { page, directory } = await tried("conflict", 2);
    writeFileSync(join(directory, "menu.txt"), "soup\nfish\n");
    await card(page, 1).getByRole("button", { name: "Keep this one" }).click();
    const dialog = page.getByRole("dialog", { name: "Keep attempt 1" });
    await dialog.getByRole("button", { name: "Keep attempt 1" }).click();
    await dialog.getByRole("alert").filter({ hasText: /Nothing was kept: .*menu\.txt/ }).waitFor();
    expect(menuOf(directory)).toBe("soup\nfish\n");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await card(page, 2).locator(".badge", { hasText: "Done" }).waitFor();
  });

  test("are begun with models of their own, and a session leads back to the comparison", async () => {
    const directory = repositoryIn(join(inn.host.directory, "models"));
    const page = await inn.open("#/start?attempts=2");
    await page.evaluate((path) => localStorage.setItem("innkeeper.directory", path), directory);
    await page.reload();
    await page.getByRole("button", { name: /^Model of attempt 2/ }).click();
    await page.getByRole("menuitemradio", { name: /large/i }).click();
    await page.locator("[data-composer]").fill(scenario({ echo: "model" }));
    await page.locator("[data-composer]").press("Enter");
    await page.waitForURL(/#\/attempts\//);
    await card(page, 2).locator(".attempt-answer", { hasText: "large" }).waitFor();
    expect(await card(page, 1).locator(".attempt-answer").innerText()).not.toContain("large");
    await card(page, 2).getByRole("link", { name: "Open" }).click();
    await page.getByRole("link", { name: "Attempt 2 of 2" }).click();
    await card(page, 1).waitFor();
  });

  test("fit on a phone", async () => {
    const { page } = await tried("phone", 2, cake, { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true });
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width).toBeLessThanOrEqual(320);
    await card(page, 1).getByRole("button", { name: /menu\.txt/ }).click();
    await card(page, 1).locator(".diff-added", { hasText: "cake" }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
  });

  test("are not begun at all if one of them cannot be, and the words stay", async () => {
    const page = await inn.open("#/start?attempts=3");
    await page.evaluate(() => localStorage.setItem("innkeeper.directory", "/nowhere/at/all"));
    await page.reload();
    await page.locator("[data-composer]").fill("precious words");
    await page.locator("[data-composer]").press("Enter");
    await page.getByRole("alert").filter({ hasText: "not started" }).waitFor();
    expect(await page.locator("[data-composer]").inputValue()).toBe("precious words");
  });
});
