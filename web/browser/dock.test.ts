// What waits for a decision stands at the editor: always in sight, readable,
// one at a time.

import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { axeFindings, hostAndBrowser, newSession, repositoryIn, scenario, send, sessionIn } from "./harness";

const inn = hostAndBrowser();
const { open } = inn;
const phone = { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true };
const dock = (page: Page) => page.locator(".dock");
const asking = (more: object = {}) => ({ tool: { name: "deploy", input: { to: "prod" }, confirm: "ask", result: { success: true, text: "deployed" }, ...more } });

/** Puts a running turn with these parts into the chat on screen, as if the host had told it. */
async function tell(page: Page, ...parts: object[]): Promise<void> {
  await page.evaluate((responseParts) => {
    interface Store {
      getState(): { currentChatId: string; chat?: object };
      handleServerEvent(event: object): void;
    }
    const { store } = (globalThis as never as { innkeeper: { store: Store } }).innkeeper;
    const { currentChatId: resource, chat } = store.getState();
    const activeTurn = { id: "t", startedAt: "2026-01-01T00:00:00.000Z", message: { text: "go", origin: { kind: "user" } }, responseParts };
    store.handleServerEvent({ type: "snapshot", snapshot: { resource, state: { ...chat, status: 24, activeTurn }, fromSeq: 1_000_000 } });
  }, parts);
  await dock(page).waitFor();
}

const call = (more: object) => ({
  kind: "toolCall",
  toolCall: { toolCallId: "c", toolName: "bash", displayName: "Bash", status: "pending-confirmation", invocationMessage: "Bash", ...more },
});

/** What the page says to the host when it decides. */
function decisions(page: Page): Promise<{ selectedOptionId?: string; approved: boolean; editedToolInput?: string; userSuggestion?: { text: string } }[]> {
  return page.evaluate(() => {
    const { store } = (globalThis as never as { innkeeper: { store: { unconfirmed(): { action: { type: string } }[] } } }).innkeeper;
    return store.unconfirmed().flatMap(({ action }) => (action.type === "chat/toolCallConfirmed" ? [action as never] : []));
  });
}

const offline = (page: Page) => page.evaluate(() => (globalThis as never as { innkeeper: { connection: { stop(): void } } }).innkeeper.connection.stop());

describe("the dock", () => {
  test.each([
    ["on a desk", {}],
    ["on a phone", phone],
  ])("is in sight while the reader is far up, %s", async (_, options) => {
    const page = await open("#/", options);
    await newSession(page);
    await page.locator("[data-composer]").fill(scenario({ say: "line\n\n".repeat(80), chunks: 1 }, asking(), { say: "over" }));
    await page.getByRole("button", { name: "Send" }).click();
    await dock(page).waitFor();
    await page.locator(".timeline").evaluate((element) => {
      element.dispatchEvent(new WheelEvent("wheel", { deltaY: -1 }));
      element.scrollTop = 0;
    });
    await page.getByRole("button", { name: "Latest" }).waitFor();
    const approve = page.locator("[data-decision=approve]");
    const inSight = await approve.evaluate((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      const over = document.elementFromPoint(element.getBoundingClientRect().left + 5, (top + bottom) / 2);
      return top >= 0 && bottom <= innerHeight && element.contains(over);
    });
    expect(inSight).toBe(true);
    const timeline = await page.locator(".timeline").boundingBox();
    expect(timeline?.height).toBeGreaterThan(100);
    await page.keyboard.press("Alt+KeyY");
    await page.getByText("The agent is done").waitFor({ state: "attached" });
    expect(await dock(page).count()).toBe(0);
  });

  test("shows several one after the other, with a count, and the conversation leads to each", async () => {
    const page = await open();
    await newSession(page);
    const one = (id: string) => call({ toolCallId: id, invocationMessage: `Step ${id}`, confirmationTitle: `Run step ${id}?` });
    await tell(page, one("a"), one("b"), one("c"));
    await dock(page).getByText("1 of 3").waitFor();
    await page.getByRole("button", { name: "Next decision" }).click();
    await dock(page).getByText("Run step b?").waitFor();
    await page.locator(".tool", { hasText: "Step c" }).getByRole("button", { name: "Decide below" }).click();
    await dock(page).getByText("Run step c?").waitFor();
    await dock(page).getByText("3 of 3").waitFor();
    expect(await page.locator(".tool .approval").count()).toBe(0);
    expect(await axeFindings(page)).toEqual([]);
  });

  test("is high only as far as it leaves room, and what is long scrolls in it", async () => {
    const page = await open("#/", phone);
    await newSession(page);
    await tell(page, call({ toolInput: JSON.stringify({ command: Array.from({ length: 80 }, (_, n) => `echo line ${n}`).join("\n") }) }));
    const [box, timeline] = [await dock(page).boundingBox(), await page.locator(".timeline").boundingBox()];
    expect(box?.height).toBeLessThan(480);
    expect(timeline?.height).toBeGreaterThan(100);
    await page.getByText("echo line 79").scrollIntoViewIfNeeded();
    await page.locator("[data-decision=approve]").click({ trial: true });
    expect(await axeFindings(page)).toEqual([]);
  });

  test("keeps what was typed as an answer, and gives it to the editor if the question is gone", async () => {
    const page = await open();
    await newSession(page);
    await send(page, scenario({ ask: { id: "q", message: "Which?", questions: [{ kind: "text", id: "t", message: "Say" }] } }));
    await page.locator(".question-form").waitFor();
    await offline(page);
    await page.locator(".question-form").getByLabel("Say").fill("the blue one");
    await page.reload();
    await expect.poll(() => page.locator(".question-form").getByLabel("Say").inputValue()).toBe("the blue one");
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator(".question", { hasText: "Not answered" }).waitFor();
    await expect.poll(() => page.locator("[data-composer]").inputValue()).toBe("the blue one");
  });

  test("offers no question of a turn that is over", async () => {
    const page = await open();
    await newSession(page);
    await send(page, scenario({ ask: { id: "q", message: "Which?", questions: [{ kind: "text", id: "t", message: "Say" }] } }));
    await page.locator(".question-form").waitFor();
    await page.getByRole("button", { name: "Answer below" }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator(".question", { hasText: "Not answered" }).waitFor();
    expect(await page.locator(".question-form").count()).toBe(0);
  });
});

describe("an approval", () => {
  test("by key or by the large button counts once, whatever the agent lists first", async () => {
    const page = await open();
    await newSession(page);
    const options = [
      { id: "allow_always", label: "allow_always", kind: "approve", group: 1 },
      { id: "allow_once", label: "allow_once", kind: "approve", group: 0 },
      { id: "reject_once", label: "reject_once", kind: "deny", group: 0 },
    ];
    await offline(page);
    await tell(page, call({ options }));
    const labels = await dock(page).locator(".button-row .button").allTextContents();
    expect(labels).toEqual(["Allow always", "Allow onceAlt Y", "Reject onceAlt N", "Deny with a reason…"]);
    expect(await dock(page).locator(".primary").innerText()).toContain("Allow once");
    await page.keyboard.press("Alt+KeyY");
    expect(await decisions(page)).toMatchObject([{ approved: true, selectedOptionId: "allow_once" }]);
  });

  test("shows a command with its lines, its description and all else by name", async () => {
    const page = await open();
    await newSession(page);
    const toolInput = JSON.stringify({ command: "cd a\nrm -rf b", description: "Clean up", timeout: 5 });
    await tell(page, call({ toolInput, invocationMessage: "Remove b", confirmationTitle: "Run this command?" }));
    expect(await dock(page).locator(".command").innerText()).toBe("cd a\nrm -rf b");
    const words = await dock(page).innerText();
    for (const said of ["Run this command?", "Clean up", "timeout", "5", "Remove b"]) expect(words).toContain(said);
    expect(words).not.toContain("\\n");
    expect(await page.locator(".tool-title").innerText()).toBe("Remove b");
  });

  test("shows a command once", async () => {
    const page = await open();
    await newSession(page);
    await tell(page, call({ toolInput: JSON.stringify({ command: "make   all" }), invocationMessage: "make all", confirmationTitle: "Run this command?" }));
    expect((await dock(page).innerText()).match(/make\s+all/g)).toHaveLength(1);
  });

  test("shows what an agent says in words: a plan, or the text of a request", async () => {
    const page = await open();
    await newSession(page);
    const invocationMessage = { markdown: "Ready to code\n\n## The plan\n\n1. read\n2. write" };
    await tell(page, call({ invocationMessage, toolInput: "{}", confirmationTitle: "Approve the plan?" }));
    expect(await dock(page).locator(".md h3").innerText()).toBe("The plan");
    expect(await page.locator(".tool-title").innerText()).toBe("Ready to code");
  });

  test("lets a command be edited as a command", async () => {
    const page = await open();
    await newSession(page);
    const command = Array.from({ length: 13 }, (_, n) => `echo ${n}`).join("\n");
    await tell(page, call({ editable: true, toolInput: JSON.stringify({ command, cwd: "/x" }) }));
    const field = page.getByLabel(/editable/);
    expect(await field.inputValue()).toBe(command);
    expect(await field.evaluate((element) => element.scrollHeight <= element.clientHeight + 1)).toBe(true);
    await field.fill("echo safe");
    // What was edited is there when one comes back to it.
    const hash = new URL(page.url()).hash;
    await page.evaluate(() => (location.hash = "#/settings"));
    await dock(page).waitFor({ state: "detached" });
    await page.evaluate((to) => (location.hash = to), hash);
    await dock(page).waitFor();
    expect(await field.inputValue()).toBe("echo safe");
    await offline(page);
    await page.locator("[data-decision=approve]").click();
    const [decision] = await decisions(page);
    expect(JSON.parse(decision?.editedToolInput ?? "")).toEqual({ command: "echo safe", cwd: "/x" });
  });

  test("of an edit shows the difference, and its input only on demand", async () => {
    const page = await inn.open("#/new");
    await sessionIn(page, repositoryIn(join(inn.host.directory, "larder")));
    await send(page, scenario({ edit: { path: "menu.txt", content: "soup\ncake\n", confirm: "ask" } }));
    await dock(page).locator(".diff-added", { hasText: "cake" }).waitFor();
    expect(await dock(page).locator(".tool-input:visible").count()).toBe(0);
    await page.locator("[data-decision=approve]").click();
    await page.locator(".turn-footer").waitFor();
    await expect.poll(() => page.locator(".tool .diff-frame").count()).toBe(1);
  });

  test("that is denied sends the words along, on Enter, and claims nothing about them", async () => {
    const page = await open();
    await newSession(page);
    await send(page, scenario(asking(), { say: "over" }));
    await page.getByRole("button", { name: "Deny with a reason…" }).click();
    const reason = page.getByLabel("What should the agent do instead?");
    await reason.fill("use the");
    await dock(page).getByRole("button", { name: "Deny and send" }).waitFor();
    await reason.press("End");
    await reason.press("Shift+Enter");
    await page.keyboard.insertText("other one");
    expect(await reason.inputValue()).toBe("use the\nother one");
    await reason.press("Enter");
    await page.locator('[data-phase="cancelled"]').waitFor();
    await page.locator(".tool-head").first().click();
    expect(await page.locator(".tool-body").innerText()).not.toContain("Denied:");
  });

  test("that somebody else decides gives the words of the denial to the editor", async () => {
    const page = await open();
    await newSession(page);
    await send(page, scenario(asking(), { say: "over" }));
    await page.getByRole("button", { name: "Deny with a reason…" }).click();
    await page.getByLabel("What should the agent do instead?").fill("use the other one");
    await page.reload();
    await expect.poll(() => page.getByLabel("What should the agent do instead?").inputValue()).toBe("use the other one");
    const other = await open(new URL(page.url()).hash);
    await other.locator("[data-decision=approve]").click();
    await expect.poll(() => page.locator("[data-composer]").inputValue()).toBe("use the other one");
  });
});

test("a session that is being created says so, and does not say that it is ready", async () => {
  const page = await open();
  await newSession(page);
  await page.getByText("Script is ready").waitFor();
  await page.evaluate(() => {
    interface Store {
      getState(): { currentSessionId: string; session?: object };
      handleServerEvent(event: object): void;
    }
    const { store } = (globalThis as never as { innkeeper: { store: Store } }).innkeeper;
    const { currentSessionId: resource, session } = store.getState();
    store.handleServerEvent({ type: "snapshot", snapshot: { resource, state: { ...session, lifecycle: "creating" }, fromSeq: 1_000_000 } });
  });
  await page.getByText("Script is starting…").waitFor();
  expect(await page.getByText("is ready").count()).toBe(0);
});
