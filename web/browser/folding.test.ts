import { describe, expect, test } from "vitest";
import { axeFindings, entries, hostAndBrowser, newSession, play, scenario } from "./harness";

const { open } = hostAndBrowser();

describe("folding", () => {
  test("a turn is folded to a line that says what it did, and opened again", async () => {
    const page = await open();
    await newSession(page);
    await play(page, scenario({ tool: { name: "look", input: {}, confirm: "none", result: { success: true } } }, { say: "The answer is here." }));
    await play(page, "second turn");
    await entries(page, "user").first().hover();
    await page.getByRole("button", { name: "Fold this turn" }).first().click();
    const line = page.locator(".folded-turn");
    expect(await line.innerText()).toMatch(/1 tool[^]*The answer is here\./);
    expect(await entries(page, "tool").count()).toBe(0);
    expect(await page.locator(".turn-footer").count()).toBe(1);
    expect(await axeFindings(page)).toEqual([]);
    await line.click();
    await entries(page, "tool").waitFor();
  });

  test("a key folds all finished turns, and opens them again", async () => {
    const page = await open();
    await newSession(page);
    for (const words of ["one", "two", "three"]) await play(page, words);
    const before = await entries(page, "assistant").count();
    await page.locator(".timeline").focus();
    await page.keyboard.press("f");
    await expect.poll(() => page.locator(".folded-turn").count()).toBe(3);
    expect(await entries(page, "assistant").count()).toBe(0);
    await page.keyboard.press("f");
    await expect.poll(() => entries(page, "assistant").count()).toBe(before);
  });
});
