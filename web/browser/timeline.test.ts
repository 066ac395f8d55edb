// What a long run of an agent looks like, and what stays when the reader leaves.

import { describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { axeFindings, entries, hostAndBrowser, newSession, play, playLong, scenario, send } from "./harness";

const { open } = hostAndBrowser();

const tool = (title: string, more: object = {}) => ({ tool: { name: "look", title, input: {}, result: { success: true, text: "x" }, ...more } });
const E = "\u001b";

describe("tool calls in a row", () => {
  test.each(["light", "dark"] as const)("they are open while they run, a line when they are done, and a failure stays in sight; axe finds nothing serious, %s", async (colorScheme) => {
    const page = await open("#/", { colorScheme });
    await newSession(page);
    await send(page, scenario(tool("First"), tool("Second"), tool("Broken", { result: { success: false, error: "no luck" } }), { awaitSteering: true }, { say: "The end." }));
    await page.locator(".tool-group[aria-expanded=true]").waitFor();
    await expect.poll(() => entries(page, "tool").count()).toBe(3);
    await send(page, "go on");
    await page.locator(".turn-footer").waitFor();
    const line = page.locator(".tool-group");
    expect(await line.getAttribute("aria-expanded")).toBe("false");
    expect(await line.innerText()).toContain("Used 2 tools");
    expect(await entries(page, "tool").allInnerTexts()).toEqual([expect.stringContaining("no luck")]);
    expect(await axeFindings(page)).toEqual([]);
    await line.click();
    await expect.poll(() => entries(page, "tool").count()).toBe(3);
  });

  test("a running turn and a running call say for how long", async () => {
    const page = await open();
    await page.clock.install();
    await newSession(page);
    await send(page, scenario(tool("Slow", { runMs: 60_000 })));
    await page.locator(".tool-running").waitFor();
    await page.clock.fastForward(75_000);
    await expect.poll(() => page.locator(".working .elapsed").innerText()).toMatch(/^1 min/);
    await expect.poll(() => page.locator(".tool-running .elapsed").innerText()).toMatch(/^1 min/);
  });

  test("the time that somebody took to decide does not count", async () => {
    const page = await open();
    await page.clock.install();
    await newSession(page);
    await send(page, scenario(tool("Asks", { confirm: "ask" }), { awaitSteering: true }));
    await page.getByText("Waiting for you").waitFor();
    await page.clock.fastForward(600_000);
    await expect.poll(() => page.locator(".working .elapsed").innerText()).toMatch(/^10 min/);
    await page.keyboard.press("Alt+y");
    await page.getByText("Working", { exact: true }).waitFor();
    await page.clock.fastForward(5_000);
    await expect.poll(() => page.locator(".working .elapsed").innerText()).toMatch(/^\d+(\.\d)? s$/);
  });
});

test("the footer of a turn says how long the agent worked, also to a page that was not there", async () => {
  const page = await open();
  await newSession(page);
  await send(page, scenario(tool("Asks", { confirm: "ask" })));
  await page.getByText("Waiting for you").waitFor();
  // The host's own clock counts this.
  await page.waitForFunction((since) => Date.now() - since > 1_500, await page.evaluate(() => Date.now()));
  await page.keyboard.press("Alt+y");
  await page.locator(".turn-footer").waitFor();
  await page.reload();
  const time = page.locator(".turn-footer [title^='Without the']");
  await time.waitFor();
  expect(await time.getAttribute("title")).toMatch(/^Without the [1-9]\d*(\.\d)? s that it waited for you$/);
});

describe("what tools print", () => {
  test("it has the colours of a terminal, and no codes", async () => {
    const page = await open();
    await newSession(page);
    await play(page, scenario({ terminal: { command: `printf '\\033[32mgreen\\033[0m \\033[38;2;200;10;10mred\\033[0m\\n'; exit 3` } }));
    const output = page.locator("pre.output");
    await output.locator(".ansi-2", { hasText: "green" }).waitFor();
    expect(await output.locator("span", { hasText: "red" }).evaluate((span) => getComputedStyle(span).color)).toBe("rgb(200, 10, 10)");
    expect(await output.innerText()).not.toContain(E);
    expect(await page.locator(".tool-head .badge.bad").innerText()).toBe("exit 3");
  });

  test("a command typed by hand keeps its colours", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "!printf '\\033[31mred\\033[0m\\n'");
    await page.locator(".bash .ansi-1", { hasText: "red" }).waitFor();
  });

  test("a failed command is output with its exit code, of limited height", async () => {
    const page = await open();
    await newSession(page);
    const message = `Exit code 101\n${"a line of output\n".repeat(400)}${E}[31merror${E}[0m: at the end`;
    await play(page, scenario(tool("cargo test", { result: { success: false, error: { message } } })));
    expect(await page.locator(".tool-head").innerText()).toContain("exit 101");
    const output = page.locator(".tool-body pre.output");
    await output.locator(".ansi-1", { hasText: "error" }).waitFor();
    expect((await output.boundingBox())?.height).toBeLessThan(260);
    expect(await page.locator(".tool-body").innerText()).not.toContain("Exit code");
  });

  test("long output is cut at a line, and all of it comes on demand", async () => {
    const page = await open();
    await newSession(page);
    const text = Array.from({ length: 2000 }, (_, line) => `line ${line}`).join("\n");
    await play(page, scenario(tool("Much", { result: { success: true, text } })));
    await page.locator(".tool-head").click();
    const output = page.locator(".tool-body pre.output");
    expect((await output.innerText()).startsWith("line 0\n")).toBe(true);
    expect(await output.innerText()).toMatch(/\nline \d+$/);
    await page.getByRole("button", { name: /Show [\d,]+ more lines/ }).click();
    await expect.poll(() => output.innerText()).toContain("line 1999");
  });
});

describe("a turn", () => {
  test("all of its answer is copied", async () => {
    const page = await open();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await newSession(page);
    await play(page, scenario({ say: "First part." }, tool("Between"), { say: "Second part." }));
    await page.getByRole("button", { name: "Copy answer" }).click();
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe("First part.\n\nSecond part.");
  });

  test("an error has a title in words, and a crash can be resumed", async () => {
    const page = await open();
    await newSession(page);
    await play(page, scenario({ say: "Before." }, { crash: true }));
    const card = page.locator(".error-card");
    expect(await card.locator("strong").innerText()).toBe("The agent stopped unexpectedly");
    expect(await card.innerText()).not.toMatch(/agentExited|unexpectedly[^]*unexpectedly/);
    expect(await card.getByRole("button", { name: "Resume" }).count()).toBe(1);
  });

  test("nothing can be resumed once the conversation went on", async () => {
    const page = await open();
    await newSession(page);
    await play(page, scenario({ crash: true }));
    await play(page, "something else");
    expect(await page.getByRole("button", { name: "Resume" }).count()).toBe(0);
    expect(await page.locator(".timeline").innerText()).not.toMatch(/resume the turn/i);
  });

  test("a question whose turn is over is not answered any more", async () => {
    const page = await open();
    await newSession(page);
    const questions = [{ kind: "text", id: "q", message: "Which one?" }];
    await send(page, scenario({ ask: { id: "q", message: "Choose", questions } }));
    await page.locator(".question", { hasText: "The agent asks" }).waitFor();
    await page.locator("[data-composer]").press("Escape");
    await page.locator(".question", { hasText: "Not answered" }).waitFor();
    expect(await page.getByRole("button", { name: "Submit" }).count()).toBe(0);
  });
});

describe("to-dos and sub-agents", () => {
  const plan = (done: boolean) => `- [x] Look\n- [${done ? "x" : " "}] ${done ? "" : "**now:** "}Change\n- [${done ? "x" : " "}] Test\n`;

  test("to-dos are a list in sight while there is something to do", async () => {
    const page = await open();
    await newSession(page);
    const call = (done: boolean) => ({ tool: { name: "plan", title: "Plan", result: { success: true, text: plan(done) } } });
    await send(page, scenario(call(false), { awaitSteering: true }, call(true)));
    const pinned = page.getByRole("region", { name: "To-dos of the agent" });
    await pinned.getByText("1 of 3 done").waitFor();
    await expect.poll(() => pinned.locator(".todo-now").innerText()).toContain("Change");
    expect(await axeFindings(page)).toEqual([]);
    await send(page, "go on");
    await page.locator(".turn-footer").waitFor();
    await expect.poll(() => pinned.count()).toBe(0);
  });

  test("to-dos are one line while something is to be decided", async () => {
    const page = await open();
    await newSession(page);
    const made = { tool: { name: "plan", title: "Plan", result: { success: true, text: plan(false) } } };
    await send(page, scenario(made, tool("Asks", { confirm: "ask" }), { awaitSteering: true }));
    const pinned = page.getByRole("region", { name: "To-dos of the agent" });
    await expect.poll(() => pinned.locator(".pinned-current").innerText()).toBe("Change");
    expect(await pinned.locator(".todo-now").count()).toBe(0);
    await page.keyboard.press("Alt+y");
    await pinned.locator(".todo-now").waitFor();
  });

  test("the chat of a sub-agent says what it is, and leads back", async () => {
    const page = await open();
    await newSession(page);
    await play(page, scenario({ subagent: { title: "Helper", steps: [{ say: "I helped." }, tool("Helping")] } }));
    await expect.poll(() => page.locator(".subagent-head").innerText()).toContain("Used 1 tool");
    await page.locator(".subagent").getByText("Open").click();
    const origin = page.getByRole("navigation", { name: "Where this chat comes from" });
    expect(await origin.innerText()).toMatch(/Sub-agent\s+Helper/);
    await origin.getByRole("link", { name: "Back to the main chat" }).click();
    await page.locator(".subagent").waitFor();
  });
});

describe("leaving and coming back", () => {
  const scrolled = (page: Page) => page.locator(".timeline").evaluate((element) => element.scrollTop);

  test("the place, what was folded and what was opened are as they were", async () => {
    const page = await open();
    await newSession(page);
    await playLong(page, scenario(tool("Alone"), { say: "one\n\n".repeat(60) }));
    await playLong(page, scenario({ say: "two\n\n".repeat(60) }));
    await playLong(page, "third");
    const here = page.url();
    await page.locator(".timeline").hover();
    await page.mouse.wheel(0, -10_000);
    await page.locator(".tool-head").click();
    await page.locator(".tool-body").waitFor();
    await page.mouse.wheel(0, 900);
    await expect.poll(() => scrolled(page)).toBeGreaterThan(500);
    const before = await scrolled(page);
    await page.goto(`${here.split("#")[0]}#/inbox`);
    await page.locator(".timeline").waitFor({ state: "detached" });
    await page.goto(here);
    await page.locator(".timeline").waitFor();
    await expect.poll(async () => Math.abs((await scrolled(page)) - before)).toBeLessThan(4);
    await page.mouse.wheel(0, -10_000);
    await page.locator(".tool-body").waitFor();
  });

  test("a click into the conversation draws no ring around it", async () => {
    const page = await open();
    await newSession(page);
    await play(page, "hello");
    await page.locator(".timeline").click({ position: { x: 5, y: 5 } });
    await page.keyboard.press("Shift");
    expect(await page.locator(".timeline").evaluate((element) => getComputedStyle(element).outlineStyle)).toBe("none");
  });
});
