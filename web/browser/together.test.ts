import { describe, expect, test } from "vitest";
import { hostAndBrowser, newSession, said, scenario, send } from "./harness";

const { open } = hostAndBrowser();

describe("two browsers on one session", () => {
  test("both see the same, and who else is there", async () => {
    const first = await open();
    await newSession(first);
    await send(first, scenario({ say: "hello, both of you" }));
    await first.locator(".turn-footer").waitFor();
    const hash = new URL(first.url()).hash;
    const second = await open(hash);
    await said(second, "hello, both of you").waitFor();
    await first.locator(".presence").waitFor();
    expect(await first.locator(".presence").innerText()).toContain("Chrome");
    await send(second, "a word from the second");
    await first.locator(".user-bubble", { hasText: "from the second" }).waitFor();
    await first.locator(".turn-footer").nth(1).waitFor();
    expect(await first.locator(".timeline").innerText()).toContain("Chrome on");
  });

  test("one decides, and the other sees who did", async () => {
    const first = await open();
    await newSession(first);
    await send(first, scenario({ tool: { name: "x", input: {}, confirm: "ask", result: { success: true } } }));
    await first.locator(".approval").waitFor();
    const second = await open(new URL(first.url()).hash);
    await second.locator('[data-decision="approve"]').click();
    await first.locator('[data-phase="done"]').waitFor();
    await first.getByText(/Decided by Chrome/).waitFor();
    expect(await second.getByText(/Decided by/).count()).toBe(0);
  });

  test("who decided a call does not stand at the next turn's call of the same name", async () => {
    const asks = scenario({ tool: { name: "x", input: {}, confirm: "ask", result: { success: true } } });
    const first = await open();
    await newSession(first);
    await send(first, asks);
    await first.locator(".approval").waitFor();
    const second = await open(new URL(first.url()).hash);
    await second.locator('[data-decision="approve"]').click();
    await first.getByText(/Decided by Chrome/).waitFor();
    await first.locator(".turn-footer").waitFor();
    await send(first, asks);
    await first.locator(".approval").waitFor();
    expect(await first.locator('[data-phase="confirm"] .decider').count()).toBe(0);
    await first.locator('[data-decision="approve"]').click();
    await first.locator(".turn-footer").nth(1).waitFor();
    expect(await first.getByText(/Decided by/).count()).toBe(1);
  });

  test("an answer that one begins, the other finishes", async () => {
    const first = await open();
    await newSession(first);
    await send(first, "ask");
    await first.getByLabel(/Name/).fill("Half");
    const second = await open(new URL(first.url()).hash);
    await expect.poll(() => second.getByLabel(/Name/).inputValue()).toBe("Half");
    await second.getByLabel(/Name/).fill("Half and half");
    await expect.poll(() => first.getByLabel(/Name/).inputValue()).toBe("Half and half");
    await second.getByRole("button", { name: "Submit" }).click();
    await first.locator(".question.answered").waitFor();
    expect(await first.locator(".question.answered").innerText()).toContain("Half and half");
  });
});
