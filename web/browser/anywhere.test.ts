// On a phone, by keyboard alone, and for a screen reader.

import { describe, expect, test } from "vitest";
import { axeFindings, hostAndBrowser, newSession, play, scenario, send } from "./harness";

const { open } = hostAndBrowser();

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

describe("on a phone", () => {
  test("there is one thing at a time, and a way back", async () => {
    const page = await open("#/", phone);
    await page.locator(".sidebar").waitFor();
    await page.getByRole("link", { name: "New session" }).first().click();
    await page.locator("[data-composer]").fill("hello");
    await page.getByRole("button", { name: "Send and start session" }).click();
    await page.locator(".turn-footer").waitFor();
    expect(await page.locator(".sidebar").isVisible()).toBe(false);
    await page.getByRole("link", { name: "All sessions" }).click();
    await page.locator(".sidebar").waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  });

  test("Enter begins a line, and the button sends", async () => {
    const page = await open("#/", phone);
    await newSession(page);
    await page.locator("[data-composer]").pressSequentially("one");
    await page.locator("[data-composer]").press("Enter");
    await page.locator("[data-composer]").pressSequentially("two");
    await page.getByRole("button", { name: "Send" }).tap();
    await page.locator(".turn-footer").waitFor();
    expect(await page.locator(".user-bubble").innerText()).toBe("one\ntwo");
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  });
});

describe("by keyboard alone", () => {
  test("from nothing to an answered question", async () => {
    const page = await open();
    await page.keyboard.press("Control+KeyK");
    await page.getByRole("combobox", { name: /Command/ }).waitFor();
    await page.keyboard.type("new sess");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate(() => document.activeElement?.matches("[data-composer]"))).toBe(true);
    await page.keyboard.type(scenario({ tool: { name: "x", input: {}, confirm: "ask", result: { success: true } } }));
    await page.keyboard.press("Enter");
    await page.locator(".approval").waitFor();
    await page.keyboard.press("Alt+KeyY");
    await page.locator(".turn-footer").waitFor();
    await page.keyboard.press("Control+KeyK");
    await page.keyboard.type("inbox");
    await page.keyboard.press("Enter");
    await page.getByText("Nothing waits for you").waitFor();
  });

  test("what is typed right behind the key for commands is a command", async () => {
    const page = await open();
    await newSession(page);
    await page.keyboard.press("Control+KeyK");
    await page.keyboard.type("open inbox");
    expect(await page.getByRole("combobox", { name: /Command/ }).inputValue()).toBe("open inbox");
    expect(await page.locator("[data-composer]").inputValue()).toBe("");
  });
});

describe("to a screen reader", () => {
  test("it is said that the agent works and is done, not every word", async () => {
    const page = await open();
    await newSession(page);
    await page.evaluate(() => {
      const said: string[] = [];
      Object.assign(globalThis, { said });
      for (const region of document.querySelectorAll("[aria-live], [role=status], [role=alert], [role=log]")) {
        new MutationObserver(() => said.push(region.textContent)).observe(region, { subtree: true, childList: true, characterData: true });
      }
    });
    await play(page, scenario({ flood: { deltas: 200, bytes: 5, everyUs: 1000 } }));
    await page.getByRole("status").filter({ hasText: "The agent is done" }).waitFor({ state: "attached" });
    const said = await page.evaluate(() => (globalThis as never as { said: string[] }).said);
    expect(said).toEqual(["The agent is working", "The agent is done"]);
    const spoken = page.locator(".timeline").locator("[aria-live], [role=status], [role=alert], [role=log]");
    expect(await spoken.count()).toBe(0);
  });
});

describe.each(["light", "dark"] as const)("axe finds nothing serious, %s", (colorScheme) => {
  test.each(["#/", "#/start", "#/new", "#/inbox", "#/settings", "#/connect"])("on %s", async (path) => {
    const page = await open(path, { colorScheme });
    await page.locator("main h1, main h2").first().waitFor();
    expect(await axeFindings(page)).toEqual([]);
  });

  test("in a conversation with everything in it", async () => {
    const page = await open("#/", { colorScheme });
    await newSession(page);
    await play(page, "tour");
    await play(page, "tools");
    await page.locator(".tool-head").first().click();
    await send(page, scenario({ tool: { name: "x", input: { a: 1 }, confirm: "ask", result: { success: true } } }));
    await page.locator(".approval").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.locator('[data-decision="approve"]').click();
    await page.locator(".turn-footer").nth(2).waitFor();
    await send(page, "ask");
    await page.locator(".question-form").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.keyboard.press("Control+KeyK");
    await page.getByRole("combobox", { name: /Command/ }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
  });
});
