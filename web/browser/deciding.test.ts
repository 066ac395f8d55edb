import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { axeFindings, entries, hostAndBrowser, newSession, play, repositoryIn, said, scenario, send, sessionIn } from "./harness";

const inn = hostAndBrowser();
const { open } = inn;
const asking = (more: object = {}) => ({ tool: { name: "deploy", input: { to: "prod" }, confirm: "ask", result: { success: true, text: "deployed" }, ...more } });

describe("approvals", () => {
  test("an approved tool runs, a denied one does not, and the turn goes on", async () => {
    const page = await open();
    await newSession(page);
    await send(page, scenario(asking(), asking(), { say: "over" }));
    await page.locator('[data-decision="approve"]').click();
    await page.locator('[data-phase="done"]').waitFor();
    await page.locator('[data-decision="deny"]').click();
    await page.locator('[data-phase="cancelled"]').waitFor();
    await said(page, "over").waitFor();
  });

  test("the host's own options are offered, and the chosen one is sent", async () => {
    const page = await open();
    await newSession(page);
    await send(page, "confirm");
    await page.getByRole("button", { name: "Allow in this session" }).click();
    await page.locator('[data-phase="done"]').first().waitFor();
  });

  test("an editable input can be changed before it is approved", async () => {
    const page = await open();
    await newSession(page);
    await send(page, "confirm");
    await page.getByLabel(/editable/).fill("rm -rf build/tmp");
    await page.locator('[data-decision="approve"]').click();
    await page.locator('[data-phase="done"]').first().waitFor();
    await page.locator(".tool-head").first().click();
    expect(await page.locator(".tool-input").first().innerText()).toContain("build/tmp");
  });

  test("what an edit would change is shown before it is approved", async () => {
    const page = await inn.open("#/new");
    const directory = repositoryIn(join(inn.host.directory, "pantry"));
    await sessionIn(page, directory);
    await send(page, scenario({ edit: { path: "menu.txt", content: "soup\ncake\n", confirm: "ask" } }));
    await page.locator(".approval").waitFor();
    await page.locator(".diff-added", { hasText: "cake" }).waitFor();
    await page.locator(".diff-removed", { hasText: "bread" }).waitFor();
    expect(readFileSync(join(directory, "menu.txt"), "utf8")).toBe("soup\nbread\n");
    await page.locator('[data-decision="approve"]').click();
    await page.locator(".turn-footer").waitFor();
    expect(readFileSync(join(directory, "menu.txt"), "utf8")).toBe("soup\ncake\n");
  });

  test("a result can be withheld from the agent", async () => {
    const page = await open();
    await newSession(page);
    await send(page, scenario(asking({ confirm: "none", confirmResult: true })));
    await page.getByRole("button", { name: /Withhold/ }).click();
    await page.locator('[data-phase="cancelled"]').waitFor();
  });

  test("the keyboard is enough", async () => {
    const page = await open();
    await newSession(page);
    await send(page, scenario(asking(), asking()));
    await page.locator(".approval").waitFor();
    await page.keyboard.press("Alt+KeyY");
    await page.locator('[data-phase="done"]').waitFor();
    await page.locator(".approval").waitFor();
    await page.keyboard.press("Alt+KeyN");
    await page.locator(".turn-footer").waitFor();
    expect(await page.locator('[data-phase="cancelled"]').count()).toBe(1);
  });
});

describe("questions", () => {
  test("every kind can be answered, and what is required is asked for", async () => {
    const page = await open();
    await newSession(page);
    await send(page, "ask");
    const form = page.locator(".question-form");
    await form.getByRole("button", { name: "Submit" }).click();
    await form.getByText("Please answer this").waitFor();
    await form.getByLabel(/Name/).fill("Inn");
    await form.getByLabel(/Apache/).check();
    await form.getByLabel(/Tests/).check();
    await form.getByLabel(/Docs/).check();
    await form.getByLabel(/Members/).fill("3");
    await form.getByLabel(/Public/).uncheck();
    await form.getByRole("button", { name: "Submit" }).click();
    await page.locator(".turn-footer").waitFor();
    const answers = await page.locator(".question.answered").innerText();
    for (const word of ["Inn", "Apache 2.0", "Tests, Docs", "3", "No"]) expect(answers).toContain(word);
  });

  test("declining is an answer too", async () => {
    const page = await open();
    await newSession(page);
    await send(page, "ask");
    await page.getByRole("button", { name: "Decline" }).click();
    await page.locator(".turn-footer").waitFor();
    expect(await page.locator(".question.answered").innerText()).toContain("Declined");
  });
});

describe("the inbox", () => {
  test("what waits anywhere is answered without opening it", async () => {
    const page = await open();
    await newSession(page);
    await send(page, scenario({ title: "Deploying" }, asking(), { say: "went on" }));
    await page.locator(".approval").waitFor();
    const session = page.url();
    await newSession(page);
    await send(page, scenario({ title: "Asking" }, { ask: { id: "q", message: "Which?", questions: [{ kind: "text", id: "t", message: "Say" }] } }));
    await page.locator(".question-form").waitFor();
    await page.getByRole("link", { name: /Inbox, \d+ waiting/ }).click();
    const item = (title: string) => page.locator(".inbox > li", { hasText: title });
    expect(await page.title()).toMatch(/^\(\d+\)/);
    await item("Deploying").locator("[data-decision=approve]").click();
    await item("Deploying").waitFor({ state: "detached" });
    await item("Asking").getByLabel("Say").fill("this one");
    await item("Asking").getByRole("button", { name: "Submit" }).click();
    await item("Asking").waitFor({ state: "detached" });
    await page.goto(session);
    await said(page, "went on").waitFor();
    await play(page, "hello");
    expect(await entries(page, "user").count()).toBe(2);
  });

  test("the same command of several sessions is allowed once for all of them, and no other", async () => {
    const page = await open();
    const run = (command: string, after: string) => scenario({ title: after }, { tool: { name: "bash", input: { command }, confirm: "ask", result: { success: true } } }, { say: after });
    for (const [command, after] of [["make test", "Roof"], ["make test", "Stable"], ["make all", "Barn"]] as const) {
      await newSession(page);
      await send(page, run(command, after));
      await page.locator(".approval").waitFor();
    }
    await page.getByRole("link", { name: /Inbox, \d+ waiting/ }).click();
    const item = (title: string) => page.locator(".inbox > li", { hasText: title });
    await page.getByText("2 sessions ask for the same: make test").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole("button", { name: /in all 2$/ }).click();
    for (const title of ["Roof", "Stable"]) await item(title).waitFor({ state: "detached" });
    await item("Barn").locator("[data-decision=deny]").click();
    await item("Barn").waitFor({ state: "detached" });
  });

  test("the keyboard is enough there too", async () => {
    const page = await open();
    for (const title of ["First", "Second"]) {
      await newSession(page);
      await send(page, scenario({ title }, asking()));
      await page.locator(".approval").waitFor();
    }
    await page.locator(".timeline").focus();
    await page.keyboard.press("i");
    const waiting = page.locator("[data-waiting]");
    await expect.poll(() => waiting.count()).toBeGreaterThanOrEqual(2);
    const before = await waiting.count();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    const chosen = (await page.locator("[data-waiting]:focus").getAttribute("aria-label")) ?? "";
    await page.keyboard.press("y");
    await expect.poll(() => waiting.count()).toBe(before - 1);
    expect(await page.getByLabel(chosen, { exact: true }).count()).toBe(0);
    await page.keyboard.press("Alt+KeyN");
    await expect.poll(() => waiting.count()).toBe(before - 2);
  });
});
