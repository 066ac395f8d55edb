import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { axeFindings, hostAndBrowser, newSession, play, sessionIn } from "./harness";

const inn = hostAndBrowser();
const { open } = inn;

async function chatAction(page: Page, item: string): Promise<void> {
  await page.getByRole("button", { name: "Chat actions" }).click();
  await page.getByRole("menuitem", { name: item }).click();
}

/** The chats of the session in their order, as the menu shows them. */
async function listed(page: Page): Promise<string[]> {
  await page.getByRole("button", { name: /^Chats of this session/ }).click();
  const names = await page.getByRole("menuitemradio").allInnerTexts();
  await page.keyboard.press("Escape");
  return names.map((name) => name.split("\n")[0] ?? "");
}

describe("chats of a session", () => {
  test("one is created, moved and deleted after a question", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "the main thing");
    for (const words of ["one more", "another"]) {
      await chatAction(page, "New chat");
      await expect.poll(() => page.locator(".user-bubble").count()).toBe(0);
      await play(page, words);
    }
    await expect.poll(() => listed(page)).toEqual(["the main thing", "one more", "another"]);
    await chatAction(page, "Move chat up");
    await expect.poll(() => listed(page)).toEqual(["the main thing", "another", "one more"]);
    await chatAction(page, "Delete chat");
    const question = page.getByRole("dialog", { name: "Delete chat" });
    await question.getByText("“another”").waitFor();
    await question.getByRole("button", { name: "Cancel" }).click();
    expect(await listed(page)).toHaveLength(3);
    await chatAction(page, "Delete chat");
    await question.getByRole("button", { name: "Delete chat" }).click();
    await page.locator(".user-bubble", { hasText: "the main thing" }).waitFor();
    await expect.poll(() => listed(page)).toEqual(["the main thing", "one more"]);
  });

  test("one is moved to a session of its own, and to another session", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "the house");
    await chatAction(page, "New chat");
    await expect.poll(() => page.locator(".user-bubble").count()).toBe(0);
    await play(page, "the garden");
    const before = page.url();
    await chatAction(page, "Move to session…");
    const question = page.getByRole("dialog", { name: "Move to session" });
    await question.getByText("“the garden”").waitFor();
    await question.getByRole("button", { name: "New session" }).click();
    await expect.poll(() => page.url().split("?")[0]).not.toBe(before.split("?")[0]);
    await expect.poll(() => page.locator(".user-bubble").allInnerTexts()).toEqual(["the garden"]);
    await play(page, "and its well");
    expect(await page.locator(".user-bubble").allInnerTexts()).toEqual(["the garden", "and its well"]);
    await chatAction(page, "New chat");
    await expect.poll(() => page.locator(".user-bubble").count()).toBe(0);
    await play(page, "the roof");
    await chatAction(page, "Move to session…");
    await question.getByRole("list", { name: "Sessions" }).getByRole("button", { name: "the house" }).click();
    await expect.poll(() => listed(page)).toEqual(["the house", "the roof"]);
    expect(await page.locator(".user-bubble").allInnerTexts()).toEqual(["the roof"]);
  });

  test("another one is made the main chat, for everyone", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "the house");
    const main = page.url();
    await chatAction(page, "New chat");
    await expect.poll(() => page.locator(".user-bubble").count()).toBe(0);
    await play(page, "the garden");
    await chatAction(page, "Make this the main chat");
    const other = await open(new URL(main).hash);
    await other.locator(".user-bubble", { hasText: "the garden" }).waitFor();
    await other.getByRole("button", { name: "Chat actions" }).click();
    expect(await other.getByRole("menuitem", { name: "Make this the main chat" }).count()).toBe(0);
  });

  test("a question on the side shows nothing of the chat that it is about", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "the main thing");
    await chatAction(page, "Ask on the side");
    await page.waitForURL(/chat=/);
    await expect.poll(() => page.locator(".user-bubble").count()).toBe(0);
    await play(page, "and this?");
    expect(await page.locator(".user-bubble").allInnerTexts()).toEqual(["and this?"]);
  });
});

describe("directories of a session", () => {
  test("one is added and removed, and the first is replaced", async () => {
    const page = await open("#/new");
    const first = join(inn.host.directory, "first");
    const second = join(first, "second");
    mkdirSync(second, { recursive: true });
    await sessionIn(page, first);
    await play(page, "hello there");
    await page.getByRole("button", { name: "Session actions" }).click();
    await page.getByRole("menuitem", { name: "Details and settings" }).click();
    await page.getByRole("button", { name: "Add a directory…" }).click();
    const picker = page.getByRole("dialog");
    await picker.getByRole("button", { name: "second", exact: true }).click();
    await picker.getByRole("button", { name: "Choose this directory" }).click();
    const directories = page.getByRole("list", { name: "Working directories" }).locator("code");
    await expect.poll(() => directories.allInnerTexts()).toEqual([first, second]);
    // The chat works in both, and need not.
    const used = page.getByRole("group", { name: "This chat works in" }).getByRole("checkbox");
    expect(await used.evaluateAll((all: HTMLInputElement[]) => all.map(({ checked }) => checked))).toEqual([true, true]);
    await used.nth(1).uncheck();
    await expect.poll(() => used.first().isDisabled()).toBe(true);
    await used.nth(1).check();
    await expect.poll(() => used.first().isDisabled()).toBe(false);
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole("button", { name: `Remove ${second}` }).click();
    await expect.poll(() => directories.allInnerTexts()).toEqual([first]);
    await page.getByRole("button", { name: `Replace ${first}` }).click();
    await picker.getByRole("button", { name: "second", exact: true }).click();
    await picker.getByRole("button", { name: "Choose this directory" }).click();
    await expect.poll(() => directories.allInnerTexts()).toEqual([second]);
  });
});
