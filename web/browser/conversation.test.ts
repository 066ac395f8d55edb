import { describe, expect, test } from "vitest";
import { entries, hostAndBrowser, newSession, play, scenario, send } from "./harness";

const { open } = hostAndBrowser();

describe("the everyday loop", () => {
  test("a question is asked and its answer appears as Markdown", async () => {
    const page = await open();
    await newSession(page);
    await play(page, scenario({ reason: "Let me think." }, { say: "# Title\n\nSome **bold** words.\n\n```rust\nfn main() {}\n```\n" }));
    expect(await page.locator(".md h2").innerText()).toBe("Title");
    expect(await page.locator(".md strong").innerText()).toBe("bold");
    await page.locator(".hljs-keyword", { hasText: "fn" }).waitFor();
    await page.getByRole("button", { name: /Thought/ }).click();
    expect(await page.locator(".thinking-body").innerText()).toContain("Let me think.");
  });

  test("a restored conversation looks exactly like the live one", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "tools");
    const live = await page.locator(".timeline-content").innerText();
    await page.reload();
    await page.locator(".turn-footer").waitFor();
    expect(await page.locator(".timeline-content").innerText()).toBe(live);
  });

  test("content by reference comes when it is wanted", async () => {
    const page = await open();
    await newSession(page);
    await play(page, scenario({ ref: { bytes: 3000, contentType: "text/plain" } }));
    await page.getByRole("button", { name: /Show text\/plain/ }).click();
    await page.locator("pre.output").waitFor();
  });

  test("an error can be tried again", async () => {
    const page = await open();
    await newSession(page);
    await play(page, scenario({ say: "Before." }, { fail: { errorType: "overload", message: "too much" } }));
    expect(await page.locator(".error-card").innerText()).toContain("Too much");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator(".turn-footer").nth(1).waitFor();
    expect(await entries(page, "user").count()).toBe(2);
  });

  test("a crash of the agent can be resumed", async () => {
    const page = await open();
    await newSession(page);
    await play(page, scenario({ say: "Before." }, { crash: true }));
    await page.locator(".error-card").getByRole("button", { name: "Resume" }).click();
    await page.getByRole("button", { name: "Resume" }).waitFor({ state: "detached" });
    await page.locator(".turn-footer").waitFor();
    expect(await entries(page, "user").count()).toBe(1);
  });

  test("usage fills the context meter", async () => {
    const page = await open();
    await newSession(page);
    await play(page, scenario({ say: "x" }, { usage: { inputTokens: 1200, outputTokens: 300, model: "script-small" } }));
    expect(await page.locator(".context-meter").innerText()).toMatch(/tokens|%/);
    expect(await page.locator(".turn-footer").innerText()).toContain("1.2k in");
  });

  test("a sub-agent is shown in place and can be opened", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "subagent");
    await page.locator(".subagent .disclosure").click();
    await page.locator(".subagent-body .entry").first().waitFor();
    const words = await page.locator(".subagent-body").innerText();
    await page.locator(".subagent").getByText("Open").click();
    await page.locator(".timeline .entry-assistant").first().waitFor();
    expect(words.length).toBeGreaterThan(10);
    expect(page.url()).toContain("chat=");
  });
});

describe("the view", () => {
  const long = scenario({ say: "line\n\n".repeat(80), chunks: 1 });

  test("it follows the end while the reader is there", async () => {
    const page = await open();
    await newSession(page);
    await play(page, long);
    const distance = () => page.locator(".timeline").evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight);
    await expect.poll(distance).toBeLessThan(48);
  });

  test("it follows on a slow machine, whatever shrinks or is measured again", async () => {
    const page = await open("#/", { viewport: { width: 390, height: 780 } });
    const session = await page.context().newCDPSession(page);
    await newSession(page);
    await session.send("Emulation.setCPUThrottlingRate", { rate: 4 });
    const steps = Array.from({ length: 20 }, (_, n) => [
      { say: `Step ${n}: I will now look at the file and think about it in a sentence or two.`, everyMs: 2 },
      { tool: { name: "bash", title: `Run ${n}`, input: { command: `ls ${n}` }, runMs: 20, content: [`out ${n}\nmore\nmore`], result: { success: true, text: "o\no\no\no\no\n" } } },
    ]).flat();
    await send(page, scenario(...steps, { say: "the end of it" }));
    // Between any two frames: the reader has done nothing, so the view follows.
    const left = await page.evaluate(async () => {
      const { store } = (globalThis as never as { innkeeper: { store: { getState(): { streaming: boolean } } } }).innkeeper;
      while (store.getState().streaming) {
        if (document.querySelector(".to-end")) return true;
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
      return document.querySelector(".to-end") !== null;
    });
    expect(left).toBe(false);
    const distance = () => page.locator(".timeline").evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight);
    await expect.poll(distance).toBeLessThan(48);
  });

  test("it does not move while the reader reads further up", async () => {
    const page = await open();
    await newSession(page);
    await play(page, long);
    await send(page, scenario({ say: "more\n\n".repeat(10), chunks: 10 }, { awaitSteering: true }, { say: "late\n\n".repeat(40), chunks: 40 }));
    await page.locator(".working").waitFor();
    await page.locator(".timeline").hover();
    await page.mouse.wheel(0, -1500);
    await page.getByRole("button", { name: "Latest" }).waitFor();
    const anchor = page.locator(".entry-assistant").first();
    const before = await anchor.evaluate((e) => e.getBoundingClientRect().top);
    // Steered from elsewhere, so that nothing here asks for the end.
    await page.evaluate(() => {
      const { store } = (globalThis as never as { innkeeper: { store: { getState(): { currentChatId: string }; dispatch(c: string, a: object): void } } }).innkeeper;
      const message = { text: "go", origin: { kind: "user" } };
      store.dispatch(store.getState().currentChatId, { type: "chat/pendingMessageSet", kind: "steering", id: "s", message });
    });
    await page.locator(".app").getByText("The agent is done").waitFor({ state: "attached" });
    expect(await anchor.evaluate((e) => e.getBoundingClientRect().top)).toBeCloseTo(before, 0);
    await page.getByRole("button", { name: "Latest" }).click();
    await page.locator(".md p", { hasText: "late" }).last().waitFor();
  });

  test("earlier turns come as the reader goes up, and nothing moves when they do", async () => {
    const page = await open();
    await newSession(page);
    await page.evaluate(async () => {
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
      for (let n = 0; n < 100; n++) {
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
    });
    await page.reload();
    await page.locator(".user-bubble", { hasText: "turn number 99." }).waitFor();
    expect(await page.evaluate(movedByLoading)).toBeLessThan(2);
    const scrollUp = (by: number) => page.locator(".timeline").evaluate((e, step) => (e.scrollTop = Math.max(0, e.scrollTop - step)), by);
    const first = page.locator(".user-bubble", { hasText: "turn number 0." });
    await expect
      .poll(async () => {
        await scrollUp(2500);
        return first.count();
      })
      .toBe(1);
    await expect.poll(() => page.locator(".timeline-more").innerText()).toBe("");
  });
});

/** Goes near the top, lets older turns come, and says how far a line moved. */
async function movedByLoading(): Promise<number> {
  interface Client {
    innkeeper: { store: { getState(): { chat?: { turns: unknown[] } }; subscribe(listener: () => void): () => void } };
  }
  const { store } = (globalThis as never as Client).innkeeper;
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const timeline = document.querySelector(".timeline") as HTMLElement;
  const known = store.getState().chat?.turns.length ?? 0;
  const grown = new Promise<void>((resolve) => {
    const stop = store.subscribe(() => {
      if ((store.getState().chat?.turns.length ?? 0) <= known) return;
      stop();
      resolve();
    });
  });
  // The reader turns the wheel; without that, the view would stay at its end.
  timeline.dispatchEvent(new WheelEvent("wheel", { deltaY: -1 }));
  timeline.scrollTop = 700;
  // What comes into view is measured over a few frames.
  for (let n = 0; n < 6; n++) await frame();
  const middle = innerHeight / 2;
  const bubbles = [...document.querySelectorAll(".user-bubble")];
  const near = bubbles.find((bubble) => bubble.getBoundingClientRect().top > middle);
  const words = near?.textContent;
  const before = near?.getBoundingClientRect().top ?? 0;
  await grown;
  for (let n = 0; n < 6; n++) await frame();
  const same = [...document.querySelectorAll(".user-bubble")].find((bubble) => bubble.textContent === words);
  return Math.abs((same?.getBoundingClientRect().top ?? Number.POSITIVE_INFINITY) - before);
}
