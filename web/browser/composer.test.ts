import { describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { axeFindings, entries, hostAndBrowser, newSession, play, said, scenario, send } from "./harness";

const { open } = hostAndBrowser();
const editor = (page: Page) => page.locator("[data-composer]");
const waiting = scenario({ say: "started" }, { awaitSteering: true }, { say: "over" });

describe("writing", () => {
  test("Enter sends, Shift+Enter begins a line, and a word being composed is left alone", async () => {
    const page = await open();
    await newSession(page);
    await editor(page).pressSequentially("one");
    await editor(page).press("Shift+Enter");
    await editor(page).pressSequentially("two");
    expect(await editor(page).inputValue()).toBe("one\ntwo");
    await editor(page).dispatchEvent("keydown", { key: "Enter", keyCode: 229, isComposing: true });
    expect(await editor(page).inputValue()).toBe("one\ntwo");
    await editor(page).press("Enter");
    await page.locator(".turn-footer").waitFor();
    expect(await editor(page).inputValue()).toBe("");
    expect(await page.locator(".user-bubble").innerText()).toBe("one\ntwo");
  });

  test.each([
    ["a phone", { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true }, false],
    ["a small window with a pane", { viewport: { width: 1000, height: 700 } }, true],
  ])("on %s, everything below the text is on one line", async (_, options, hasPane) => {
    const page = await open("#/", options);
    await newSession(page);
    await editor(page).fill(scenario({ usage: { inputTokens: 10, outputTokens: 5 } }, { say: "ready" }));
    // On a phone, Enter begins a new line.
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.locator(".turn-footer").waitFor();
    if (hasPane) await page.getByRole("button", { name: "Changes", exact: true }).click();
    const controls = page.locator(".composer-bar").locator("button:visible, label:visible");
    const middles = await controls.evaluateAll((all) => all.map((one) => one.getBoundingClientRect()).map(({ top, bottom }) => Math.round((top + bottom) / 2)));
    expect(middles.length).toBeGreaterThan(3);
    expect(Math.max(...middles) - Math.min(...middles)).toBeLessThanOrEqual(6);
    expect(await axeFindings(page)).toEqual([]);
  });

  test("a word of 100,000 letters does not stop the page, neither here nor in the conversation", async () => {
    const page = await open();
    await newSession(page);
    await play(page, scenario({ say: "A".repeat(100_000) }));
    expect(await said(page, "AAAA").locator(".md").evaluate((element) => getComputedStyle(element).fontKerning)).toBe("none");
    await play(page, scenario({ say: "short" }));
    expect(await said(page, "short").locator(".md").evaluate((element) => getComputedStyle(element).fontKerning)).toBe("auto");
  });

  test("the arrow up brings back what was said", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "first words");
    await play(page, "second words");
    await editor(page).press("ArrowUp");
    expect(await editor(page).inputValue()).toBe("second words");
    await editor(page).press("ArrowUp");
    expect(await editor(page).inputValue()).toBe("first words");
    await editor(page).press("ArrowDown");
    await editor(page).press("ArrowDown");
    expect(await editor(page).inputValue()).toBe("");
  });

  test("a draft survives the page", async () => {
    const page = await open();
    await newSession(page);
    await editor(page).pressSequentially("half a thought");
    const isKept = () =>
      page.evaluate(() => {
        const { store } = (globalThis as never as { innkeeper: { store: { unconfirmed(): unknown[]; getState(): { chat?: { draft?: { text: string } } } } } }).innkeeper;
        return store.unconfirmed().length === 0 && store.getState().chat?.draft?.text;
      });
    await expect.poll(isKept).toBe("half a thought");
    await page.reload();
    await expect.poll(() => editor(page).inputValue()).toBe("half a thought");
  });

  test("a pasted image goes along", async () => {
    const page = await open();
    await newSession(page);
    await editor(page).evaluate((element) => {
      const bytes = Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="), (c) => c.charCodeAt(0));
      const data = new DataTransfer();
      data.items.add(new File([bytes], "dot.png", { type: "image/png" }));
      element.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
    });
    await page.locator(".attachment-strip .chip").waitFor();
    await play(page, scenario({ echo: "attachments" }));
    await page.locator(".user-bubble img").waitFor();
    expect(await entries(page, "assistant").innerText()).toContain("dot.png");
  });

  test("files of any kind go along, wherever they are dropped, and what is too large is named", async () => {
    const page = await open();
    await newSession(page);
    const isCaught = await page.locator(".session-main").evaluate((element) => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array([1])], "dropped.png", { type: "image/png" }));
      data.items.add(new File(["words"], "words.txt", { type: "text/plain" }));
      data.items.add(new File([new Uint8Array([0x25, 0x50, 0, 0xff])], "report.pdf", { type: "application/pdf" }));
      data.items.add(new File([new Uint8Array(9 * 1024 * 1024)], "film.mp4", { type: "video/mp4" }));
      const over = new DragEvent("dragover", { dataTransfer: data, bubbles: true, cancelable: true });
      const drop = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
      element.dispatchEvent(over);
      element.dispatchEvent(drop);
      return over.defaultPrevented && drop.defaultPrevented;
    });
    expect(isCaught).toBe(true);
    await page.getByText("“film.mp4” is too large to attach. A file can have up to 8 MB.").waitFor();
    await page.getByLabel("Attach files").setInputFiles({ name: "picked.png", mimeType: "image/png", buffer: Buffer.from([1]) });
    await expect.poll(() => page.locator(".attachment-strip .chip").count()).toBe(4);
    await page.getByRole("button", { name: "Remove dropped.png" }).click();
    await play(page, scenario({ echo: "attachments" }));
    const told = await entries(page, "assistant").innerText();
    for (const name of ["picked.png", "words.txt", "report.pdf"]) expect(told).toContain(name);
    expect(told).not.toContain("dropped.png");
  });

  test("attachments that do not fit into a message go to the host before it", async () => {
    const page = await open();
    await newSession(page);
    // 12 MB as files, 16 MB as they would be in a message.
    const large = (name: string) => ({ name, mimeType: "image/png", buffer: Buffer.alloc(6 * 1024 * 1024, 1) });
    await page.getByLabel("Attach files").setInputFiles([large("one.png"), large("two.png")]);
    await expect.poll(() => page.locator(".attachment-strip .chip").count()).toBe(2);
    await play(page, scenario({ say: "seen" }));
    const said = await entries(page, "user").innerText();
    for (const name of ["one.png", "two.png"]) expect(said).toContain(name);
    expect(await page.locator(".attachment-strip .chip").count()).toBe(0);
  });

  test("a file that is dropped where there is no editor does not replace the page", async () => {
    const page = await open("#/settings");
    const isCaught = await page.locator("body").evaluate((element) => {
      const data = new DataTransfer();
      data.items.add(new File(["words"], "words.txt", { type: "text/plain" }));
      const drop = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
      element.dispatchEvent(drop);
      return drop.defaultPrevented;
    });
    expect(isCaught).toBe(true);
  });

  test("the chosen model and how hard it thinks go along", async () => {
    const page = await open();
    await newSession(page);
    await page.getByRole("button", { name: "Model" }).click();
    await page.getByRole("menuitemradio", { name: /large/i }).click();
    await page.getByRole("button", { name: /effort|thinking/i }).click();
    await page.getByRole("menuitemradio", { name: /high/i }).click();
    await play(page, scenario({ echo: "model" }));
    const told = await entries(page, "assistant").innerText();
    expect(told).toContain("script-large");
    expect(told).toContain("high");
  });
});

describe("while a turn runs", () => {
  test("a message steers it", async () => {
    const page = await open();
    await newSession(page);
    await send(page, waiting);
    await said(page, "started").waitFor();
    await send(page, "go left");
    await page.locator(".turn-footer").waitFor();
    expect(await page.locator(".timeline").innerText()).toContain("go left");
    expect(await page.locator(".scheduled").count()).toBe(0);
  });

  test("messages queue, change places, and can be taken out", async () => {
    const page = await open();
    await newSession(page);
    await send(page, waiting);
    await said(page, "started").waitFor();
    for (const text of ["one", "two", "three"]) {
      await editor(page).fill(text);
      await editor(page).press("Alt+Enter");
    }
    await page.locator(".scheduled li").nth(2).waitFor();
    await page.locator(".scheduled li", { hasText: "three" }).getByRole("button", { name: "Earlier" }).click();
    await page.locator(".scheduled li", { hasText: "one" }).getByRole("button", { name: "Remove" }).click();
    await expect.poll(() => page.locator(".scheduled-text").allInnerTexts()).toEqual(["three", "two"]);
    await send(page, "go");
    await page.locator(".turn-footer").nth(2).waitFor();
    // What is further up may not be drawn.
    const bubbles = await page.locator(".user-bubble").allInnerTexts();
    expect(bubbles.slice(-2)).toEqual(["three", "two"]);
    expect(bubbles).not.toContain("one");
  });

  test("after a stop the queue waits until somebody runs it", async () => {
    const page = await open();
    await newSession(page);
    await send(page, waiting);
    await said(page, "started").waitFor();
    for (const text of ["one", "two"]) {
      await editor(page).fill(text);
      await editor(page).press("Alt+Enter");
    }
    await page.locator(".scheduled li").nth(1).waitFor();
    expect(await page.getByRole("button", { name: "Run the queue" }).count()).toBe(0);
    await editor(page).press("Escape");
    await page.getByRole("button", { name: "Run the queue" }).waitFor();
    await page.locator(".scheduled li", { hasText: "two" }).getByRole("button", { name: "Earlier" }).click();
    await expect.poll(() => page.locator(".scheduled-text").allInnerTexts()).toEqual(["two", "one"]);
    await page.getByRole("button", { name: "Run the queue" }).click();
    await page.locator(".turn-footer").nth(2).waitFor();
    expect((await page.locator(".user-bubble").allInnerTexts()).slice(1)).toEqual(["two", "one"]);
    expect(await page.locator(".scheduled").count()).toBe(0);
  });

  test("what waits can be restored to the editor", async () => {
    const page = await open();
    await newSession(page);
    await send(page, waiting);
    await said(page, "started").waitFor();
    for (const text of ["one", "two"]) {
      await editor(page).fill(text);
      await editor(page).press("Alt+Enter");
    }
    await page.locator(".scheduled li").nth(1).waitFor();
    await page.getByRole("button", { name: "Restore to editor" }).click();
    expect(await editor(page).inputValue()).toBe("one\n\ntwo");
    await expect.poll(() => page.locator(".scheduled").count()).toBe(0);
    await editor(page).fill("");
    await editor(page).press("Escape");
    await page.locator(".turn-footer").waitFor();
    expect(await page.locator(".turn-footer").innerText()).toContain("Stopped");
  });
});
