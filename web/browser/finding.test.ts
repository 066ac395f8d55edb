// Finding what is not on the screen, and going to places.

import { describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { axeFindings, hostAndBrowser, newSession, play, playLong, scenario } from "./harness";

const { open } = hostAndBrowser();

async function turns(page: Page, number: number): Promise<void> {
  await page.evaluate(async (count) => {
    interface Client {
      innkeeper: {
        store: {
          getState(): { currentChatId: string; chat?: { turns: unknown[]; activeTurn?: unknown } };
          dispatch(channel: string, action: object): void;
          subscribe(listener: () => void): () => void;
        };
      };
    }
    const { store } = (globalThis as never as Client).innkeeper;
    const chat = store.getState().currentChatId;
    for (let n = 0; n < count; n++) {
      const message = { text: `turn number ${n}.`, origin: { kind: "user" } };
      await new Promise<void>((resolve) => {
        const stop = store.subscribe(() => {
          const state = store.getState().chat;
          if (state?.turns.length !== n + 1 || state.activeTurn) return;
          stop();
          resolve();
        });
        store.dispatch(chat, { type: "chat/turnStarted", turnId: `t${n}`, startedAt: new Date().toISOString(), message });
      });
    }
  }, number);
}

const find = (page: Page) => page.getByRole("textbox", { name: "Find in this conversation" });
const marked = (page: Page) => page.evaluate(() => [...(CSS.highlights.get("find-current") ?? [])].map((range) => range.startContainer.textContent?.slice(range.startOffset, range.endOffset)));

describe("finding in a conversation", () => {
  test("words in turns that are not loaded are found, shown and marked", async () => {
    const page = await open();
    await newSession(page);
    await turns(page, 80);
    await page.reload();
    await page.locator(".user-bubble", { hasText: "turn number 79." }).waitFor();
    await page.keyboard.press("Control+f");
    await find(page).fill("NUMBER 3.");
    await page.locator(".find-count", { hasText: "of 2" }).or(page.locator(".find-count", { hasText: "2 found" })).waitFor();
    await find(page).press("Enter");
    await page.locator(".user-bubble", { hasText: "turn number 3." }).waitFor();
    await expect.poll(() => marked(page)).toContain("number 3.");
    expect(await axeFindings(page)).toEqual([]);
    await find(page).press("Escape");
    await expect.poll(() => find(page).count()).toBe(0);
    expect(await page.evaluate(() => CSS.highlights.size)).toBe(0);
  });

  test("what is folded, in a closed group and inside of a call is opened", async () => {
    const page = await open();
    await newSession(page);
    const tool = (title: string, text: string) => ({ tool: { name: "look", title, input: {}, result: { success: true, text } } });
    await play(page, scenario(tool("One", "nothing"), tool("Two", "the needle is here"), { say: "Done." }));
    await play(page, "second");
    await page.locator(".timeline").focus();
    await page.keyboard.press("f");
    await page.locator(".folded-turn").first().waitFor();
    await page.keyboard.press("Control+f");
    await find(page).fill("needle is");
    await page.locator(".tool-body pre.output", { hasText: "the needle is here" }).waitFor();
    await find(page).press("Enter");
  });

  test("what is nowhere is said", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "hello");
    await page.keyboard.press("Control+f");
    await find(page).fill("no such words");
    await page.getByText("Nothing found").waitFor();
  });
});

test("keys go from one own message to the next", async () => {
  const page = await open();
  await newSession(page);
  for (const words of ["first", "second", "third"]) await playLong(page, scenario({ say: `${words}\n\n`.repeat(40) }));
  /** The message at the top of the view. */
  const shown = () =>
    page.evaluate(() => {
      const top = document.querySelector(".timeline")?.getBoundingClientRect().top ?? 0;
      const near = [...document.querySelectorAll(".user-bubble")].find((bubble) => Math.abs(bubble.getBoundingClientRect().top - top) < 100);
      return near?.textContent?.match(/first|second|third/)?.[0];
    });
  for (const words of ["third", "second", "first"]) {
    await page.keyboard.press("Alt+ArrowUp");
    await expect.poll(shown).toBe(words);
  }
  await page.keyboard.press("Alt+ArrowDown");
  await expect.poll(shown).toBe("second");
  await page.keyboard.press("Alt+ArrowDown");
  await expect.poll(shown).toBe("third");
  await page.keyboard.press("Alt+ArrowDown");
  await page.getByRole("button", { name: "Latest" }).waitFor({ state: "detached" });
});

describe("a link to a turn", () => {
  test("opens the conversation there, also where the turn is not loaded yet", async () => {
    const page = await open("#/new");
    await newSession(page);
    await turns(page, 150);
    const session = page.url();
    const later = await open("#/");
    await later.goto(`${session}?at=t2`);
    await later.getByText("turn number 2.", { exact: true }).first().waitFor();
    await expect.poll(() => later.locator(".user-bubble", { hasText: "turn number 2." }).first().isVisible()).toBe(true);
    await later.getByRole("button", { name: "Latest" }).waitFor();
    await later.getByRole("button", { name: "Latest" }).click();
    await later.getByText("turn number 149.", { exact: true }).first().waitFor();
  });

  test("says so if the turn is gone, and shows the end", async () => {
    const page = await open("#/new");
    await newSession(page);
    await turns(page, 3);
    const session = page.url();
    const later = await open("#/");
    await later.goto(`${session}?at=gone`);
    await later.locator(".notice", { hasText: "no longer in this conversation" }).waitFor();
    await later.getByText("turn number 2.", { exact: true }).first().waitFor();
  });
});
