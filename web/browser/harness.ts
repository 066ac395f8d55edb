// A host of its own, with the script agent, and a browser to look at it.

import { execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";

const root = new URL("../../", import.meta.url).pathname;
const target = process.env["CARGO_TARGET_DIR"] ?? join(root, "target");
export const program = process.env["INNKEEPER_BIN"] ?? join(target, "debug/innkeeper");
const browsers = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export interface TestHost {
  web: string;
  directory: string;
  stop: () => Promise<void>;
  /** As a machine that loses its power would. */
  kill: () => Promise<void>;
}

/** A host on any free port in a directory of its own, unless told otherwise. */
export async function startHost(
  flags: string[] = ["--without-connection-token"],
  { port = "0", keep, agents = ["--agents", "script"], path = process.env["PATH"] }: { port?: string; keep?: string; agents?: string[]; path?: string } = {},
): Promise<TestHost> {
  if (!existsSync(program)) throw new Error(`${program} does not exist; build it with \`cargo build -p innkeeper\``);
  const directory = keep ?? mkdtempSync(join(tmpdir(), "innkeeper-web-"));
  const ready = join(directory, "ready.json");
  rmSync(ready, { force: true });
  const data = join(directory, "data");
  const call = ["serve", "--port", port, "--data-dir", data, ...agents, "--ready-file", ready, ...flags];
  // Where new sessions work unless told otherwise.
  const home = join(directory, "the-inn");
  mkdirSync(home, { recursive: true });
  const env = { ...process.env, HOME: home, PATH: path };
  const child = spawn(program, call, { stdio: ["ignore", "ignore", "pipe"], cwd: directory, env });
  let said = "";
  child.stderr.on("data", (text: Buffer) => (said += text.toString()));
  await appears(ready, directory, child, () => said);
  const { web } = JSON.parse(readFileSync(ready, "utf8")) as { web: string };
  return { web, directory, stop: () => ended(child, "SIGTERM"), kill: () => ended(child, "SIGKILL") };
}

/** Resolves once the file is there; the host writes it in one piece. */
function appears(file: string, directory: string, child: ChildProcess, said: () => string): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (!existsSync(file)) return;
      watcher.close();
      resolve();
    };
    const watcher = watch(directory, look);
    child.once("exit", () => {
      watcher.close();
      reject(new Error(`the host ended before it was ready: ${said()}`));
    });
    look();
  });
}

function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill(signal);
  });
}

export function launch(): Promise<Browser> {
  const executablePath = browsers.find((path) => path && existsSync(path));
  if (!executablePath) throw new Error("no Chromium was found; set CHROMIUM to its path");
  const isRoot = process.getuid?.() === 0;
  return chromium.launch({
    executablePath,
    args: [
      ...(isRoot ? ["--no-sandbox"] : []),
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
    ],
  });
}

/** One host and one browser for the tests of a file. */
export function hostAndBrowser(flags?: string[]) {
  let host: TestHost;
  let browser: Browser;
  beforeAll(async () => {
    [host, browser] = await Promise.all([startHost(flags), launch()]);
  });
  afterAll(async () => {
    await browser?.close();
    await host?.stop();
    if (host) rmSync(host.directory, { recursive: true, force: true });
  });
  return {
    get host() {
      return host;
    },
    get browser() {
      return browser;
    },
    open: (path = "#/", options?: BrowserContextOptions) => openPage(browser, `${host.web}${path}`, options),
  };
}

/** A page that fails its test if anything goes wrong in it. */
export async function openPage(browser: Browser, url: string, options?: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  const problems: string[] = [];
  page.setDefaultTimeout(20_000);
  page.on("pageerror", (error) => problems.push(error.stack ?? error.message));
  page.on("console", (message) => {
    const isNoise = /WebSocket connection|ERR_CONNECTION|ERR_INTERNET/.test(message.text());
    if (message.type() === "error" && !isNoise) problems.push(message.text());
  });
  const origin = new URL(url).origin;
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !/^(data|blob|ws):/.test(request.url())) problems.push(`asked ${request.url()}`);
  });
  onTestFinished(async () => {
    await context.close();
    expect(problems).toEqual([]);
  });
  await page.goto(url);
  await page.waitForSelector('.app[data-phase="connected"]');
  return page;
}

/** Starts a session through the page, and leaves the focus in its editor. */
export async function newSession(page: Page): Promise<void> {
  await page.goto(`${page.url().split("#")[0]}#/new`);
  await page.getByRole("button", { name: "Start session" }).click();
  await page.locator("[data-composer]").click();
}

/** Starts a session in a directory, from the page for that. */
export async function sessionIn(page: Page, directory: string): Promise<void> {
  await page.getByLabel("Directory", { exact: true }).fill(directory);
  await page.getByRole("button", { name: "Start session" }).click();
  await page.locator("[data-composer]").waitFor();
}

/** Makes a directory a repository with one commit. */
export function repositoryIn(directory: string): string {
  mkdirSync(directory);
  const git = (...words: string[]) => execFileSync("git", words, { cwd: directory });
  git("init", "--quiet", "--initial-branch=main");
  git("config", "user.name", "Guest");
  git("config", "user.email", "guest@example.org");
  writeFileSync(join(directory, "menu.txt"), "soup\nbread\n");
  git("add", ".");
  git("commit", "--quiet", "--message=The menu");
  return directory;
}

export async function send(page: Page, text: string): Promise<void> {
  await page.locator("[data-composer]").fill(text);
  await page.locator("[data-composer]").press("Enter");
}

/** Sends and waits for the end of the turn. */
export async function play(page: Page, text: string): Promise<void> {
  const before = await page.locator(".turn-footer").count();
  await send(page, text);
  await page.locator(".turn-footer").nth(before).waitFor();
}

/** The same for long conversations: earlier turns may have left the page by then. */
export async function playLong(page: Page, text: string): Promise<void> {
  interface Client {
    innkeeper: { store: { getState(): { chat?: { turns: unknown[] } } } };
  }
  const turns = () => page.evaluate(() => (globalThis as never as Client).innkeeper.store.getState().chat?.turns.length ?? 0);
  const before = await turns();
  await send(page, text);
  await expect.poll(turns, { timeout: 20_000 }).toBe(before + 1);
}

const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Pastes a picture into the editor, as large as it is told to be. */
export async function pastePicture(page: Page, name: string, bytes = 0): Promise<void> {
  await page.locator("[data-composer]").evaluate(
    (element, { name: called, dot, more }) => {
      const start = Uint8Array.from(atob(dot), (char) => char.charCodeAt(0));
      const data = new DataTransfer();
      data.items.add(new File([start, new Uint8Array(more)], called, { type: "image/png" }));
      element.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
    },
    { name, dot: DOT, more: bytes },
  );
  await page.locator(".attachment-strip .chip", { hasText: name }).waitFor();
}

export function scenario(...steps: object[]): string {
  return JSON.stringify({ steps });
}

export function entries(page: Page, kind: string) {
  return page.locator(`[data-entry="${kind}"]`);
}

/** Something that the agent said, once it is there. */
export function said(page: Page, text: string) {
  return page.locator(".entry-assistant", { hasText: text });
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Waits until what fades or slides in is there: on the way it has colours of its own. */
async function arrived(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const moving = () => document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity);
    for (let all = moving(); all.length > 0; all = moving()) await Promise.allSettled(all.map(({ finished }) => finished));
  });
}

/** What axe finds on the page as it is now: what it calls serious or critical, or anything at all. */
export async function axeFindings(page: Page, least: "serious" | "anything" = "serious"): Promise<string[]> {
  await page.evaluate(axe);
  await arrived(page);
  return page.evaluate(async (isAnything) => {
    interface Result {
      violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
    }
    const { axe: checker } = globalThis as never as { axe: { run(): Promise<Result> } };
    const { violations } = await checker.run();
    return violations
      .filter(({ impact }) => isAnything || impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`).join(" | ")}`);
  }, least === "anything");
}
