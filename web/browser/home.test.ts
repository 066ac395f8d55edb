// The page that begins with the prompt, and what a session begins with.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { entries, hostAndBrowser, repositoryIn, scenario } from "./harness";

const inn = hostAndBrowser();
const { open } = inn;
const editor = (page: Page) => page.locator("[data-composer]");

/** The methods that the page asks the host for, from now on. */
function asked(page: Page): string[] {
  const methods: string[] = [];
  page.on("websocket", (socket) => socket.on("framesent", ({ payload }) => methods.push(/"method":"([^"]+)"/.exec(String(payload))?.[1] ?? "")));
  return methods;
}

async function choose(page: Page, chip: RegExp, item: RegExp): Promise<void> {
  await page.locator("main").getByRole("button", { name: chip }).click();
  await page.getByRole("menuitemradio", { name: item }).click();
}

describe("a prompt", () => {
  test("begins a session and is sent, with a key", async () => {
    const page = await open();
    await editor(page).fill("tools");
    await editor(page).press("Enter");
    await page.waitForURL(/#\/s\//);
    await page.locator(".turn-footer").waitFor();
    expect(await page.locator(".user-bubble").allInnerTexts()).toEqual(["tools"]);
    await page.goto(`${inn.host.web}#/`);
    expect(await editor(page).inputValue()).toBe("");
  });

  test("stays in the editor if the session cannot be created, also over a reload", async () => {
    const page = await open();
    await page.evaluate(() => localStorage.setItem("innkeeper.directory", "/nowhere/at/all"));
    await page.reload();
    await editor(page).fill("precious words");
    await editor(page).press("Enter");
    await page.getByRole("alert").filter({ hasText: "The session was not started" }).waitFor();
    expect(await editor(page).inputValue()).toBe("precious words");
    await page.reload();
    await expect.poll(() => editor(page).inputValue()).toBe("precious words");
  });

  test("works in the folder and with the model that were chosen, and so does the next one", async () => {
    const directory = repositoryIn(join(inn.host.directory, "pantry"));
    const page = await open();
    await page.evaluate((path) => localStorage.setItem("innkeeper.directory", path), directory);
    await page.reload();
    await choose(page, /^Model/, /large/i);
    await editor(page).fill(scenario({ title: "First" }, { echo: "model" }));
    await editor(page).press("Enter");
    await page.locator(".turn-footer").waitFor();
    expect(await entries(page, "assistant").innerText()).toContain("large");
    await page.goto(`${inn.host.web}#/start`);
    await page.getByRole("button", { name: /^Model: .*large/i }).waitFor();
    await page.getByRole("button", { name: new RegExp(`^Folder: ${directory}`) }).waitFor();
  });

  test("mentions files of the folder; a mention that is deleted takes its file along", async () => {
    const directory = join(inn.host.directory, "cellar");
    mkdirSync(join(directory, "wine"), { recursive: true });
    writeFileSync(join(directory, "wine", "red.txt"), "red");
    const page = await open();
    await page.evaluate((path) => localStorage.setItem("innkeeper.directory", path), directory);
    await page.reload();
    await editor(page).pressSequentially("read @wine/r");
    await page.getByRole("option", { name: /red\.txt/ }).waitFor();
    await editor(page).press("Enter");
    await page.locator(".attachment-strip .chip", { hasText: "red.txt" }).waitFor();
    expect(await editor(page).inputValue()).toBe("read @wine/red.txt ");
    await editor(page).fill("read");
    await expect.poll(() => page.locator(".attachment-strip .chip").count()).toBe(0);
  });

  test("takes files that are dropped anywhere", async () => {
    const page = await open();
    await page.locator(".sidebar").evaluate((element) => {
      const data = new DataTransfer();
      data.items.add(new File(["words"], "words.txt", { type: "text/plain" }));
      element.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    });
    await page.locator(".attachment-strip .chip", { hasText: "words.txt" }).waitFor();
  });
});

describe("what a session begins with", () => {
  test("typing a directory starts nothing; suggestions are asked for in their field", async () => {
    const directory = repositoryIn(join(inn.host.directory, "typed"));
    const page = await open();
    const methods = asked(page);
    await page.goto("about:blank");
    await page.goto(`${inn.host.web}#/new`);
    await page.getByLabel("Directory", { exact: true }).pressSequentially(directory, { delay: 5 });
    await page.getByLabel("Isolation").selectOption('"worktree"');
    await page.getByLabel("Branch").waitFor();
    expect(methods).not.toContain("sessionConfigCompletions");
    await page.getByLabel("Branch").focus();
    await expect.poll(() => methods.filter((method) => method === "sessionConfigCompletions").length).toBe(1);
  });

  test("settings are asked for again when an agent becomes known", async () => {
    const page = await open();
    const methods = asked(page);
    await page.goto("about:blank");
    await page.goto(`${inn.host.web}#/start`);
    const resolved = () => methods.filter((method) => method === "resolveSessionConfig").length;
    await expect.poll(resolved).toBeGreaterThan(0);
    const before = resolved();
    await page.evaluate(() => {
      interface Client {
        innkeeper: { store: { getState(): { root: { agents: object[] } }; handleServerEvent(event: object): void; flush(): void } };
      }
      const { store } = (globalThis as never as Client).innkeeper;
      const agents = store.getState().root.agents.map((agent) => ({ ...agent, description: "1.0" }));
      store.handleServerEvent({ type: "action", envelope: { channel: "ahp-root://", serverSeq: 0, action: { type: "root/agentsChanged", agents } } });
      store.flush();
    });
    await expect.poll(resolved).toBeGreaterThan(before);
  });

  test("the page tells the host that it speaks English", async () => {
    const page = await open("#/", { locale: "de-DE" });
    const said: string[] = [];
    page.on("websocket", (socket) => socket.on("framesent", ({ payload }) => said.push(String(payload))));
    await page.reload();
    await expect.poll(() => said.find((frame) => frame.includes('"initialize"'))).toContain('"locale":"en"');
  });

  test("how an agent is installed is said where agents are chosen", async () => {
    const page = await open();
    await page.locator("main").getByRole("button", { name: /^Agent/ }).click();
    await page.getByRole("menuitem", { name: /Install another agent/ }).click();
    await page.getByRole("dialog").getByText("innkeeper agents install NAME").waitFor();
  });
});
