import { describe, expect, test } from "vitest";
import { entries, house, newSession, play, scenario, send } from "./harness";

const { open } = house();

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
    expect(await page.locator(".error-card").innerText()).toContain("too much");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator(".turn-footer").nth(1).waitFor();
    expect(await entries(page, "user").count()).toBe(2);
  });

  test("a crash of the agent can be resumed", async () => {
    const page = await open();
    await newSession(page);
    await play(page, scenario({ say: "Before." }, { crash: true }));
    await page.locator(".error-card").waitFor();
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
});
