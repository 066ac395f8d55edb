// The recording and the pictures of a real agent in the README: `npm run
// recording`. Claude Code is installed with npm and works with a model that
// tells a story; the recording is put together by ffmpeg.

import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import type { Browser, Page } from "playwright-core";
import { launch, openPage, program, startHost } from "./harness";
import type { TestHost } from "./harness";
import { files, prompt, storyteller } from "./story";
import type { Model } from "./story";

const images = new URL("../../docs/images/", import.meta.url).pathname;
const scratch = process.env["RECORDING_DIR"] ?? "/tmp/innkeeper";
const project = join(scratch, "the-inn");
const frames = join(scratch, "frames");
const desktop = { viewport: { width: 1180, height: 760 } };
const phone = { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true };

let model: Model;
let host: TestHost;
let browser: Browser;

beforeAll(async () => {
  for (const old of ["the-inn", "frames", "data/innkeeper.db", "data/innkeeper.db-wal", "data/innkeeper.db-shm", "data/innkeeper.last"]) rmSync(join(scratch, old), { recursive: true, force: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(project, name, ".."), { recursive: true });
    writeFileSync(join(project, name), text);
  }
  const git = (...words: string[]) => execFileSync("git", ["-c", "user.name=Guest", "-c", "user.email=guest@example.org", ...words], { cwd: project });
  git("init", "--quiet", "--initial-branch=main");
  git("add", ".");
  git("commit", "--quiet", "--message=A shop");
  mkdirSync(frames, { recursive: true });
  execFileSync(program, ["agents", "install", "claude", "--data-dir", join(scratch, "data")], { stdio: "inherit" });
  model = await storyteller(project);
  const config = join(scratch, "innkeeper.toml");
  const env = `HOME = "${join(scratch, "home")}", ANTHROPIC_BASE_URL = "${model.address}", ANTHROPIC_API_KEY = "none", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1", DISABLE_AUTOUPDATER = "1", ENABLE_TOOL_SEARCH = "false"`;
  mkdirSync(join(scratch, "home"), { recursive: true });
  writeFileSync(config, `agent_environment = "strict"\n[agents.claude]\nenv = { ${env} }\n`);
  [host, browser] = await Promise.all([startHost(["--without-connection-token", "--config", config], { keep: scratch, agents: ["--agents", "claude"] }), launch()]);
});

afterAll(async () => {
  await browser?.close();
  await host?.stop();
  model?.stop();
});

const shots: { file: string; seconds: number }[] = [];

async function frame(page: Page, seconds: number): Promise<void> {
  const file = join(frames, `${String(shots.length).padStart(3, "0")}.png`);
  await page.screenshot({ path: file, animations: "disabled", caret: "hide" });
  shots.push({ file, seconds });
}

/** Frames until something is there, so that it is seen to come. */
async function until(page: Page, is: () => Promise<boolean>): Promise<void> {
  for (let count = 0; count < 120; count += 1) {
    if (await is()) return;
    await frame(page, 0.15);
    await page.waitForTimeout(120);
  }
  throw new Error("the story does not go on");
}

async function picture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(images, `${name}.png`), animations: "disabled", caret: "hide" });
}

async function pictures(url: string): Promise<void> {
  for (const [name, where, options] of [
    ["conversation-light", url, { ...desktop, colorScheme: "light" as const }],
    ["conversation-dark", url, { ...desktop, colorScheme: "dark" as const }],
    ["conversation-phone", url, { ...phone, colorScheme: "light" as const }],
    ["inbox-phone", "#/inbox", { ...phone, colorScheme: "dark" as const }],
  ] as const) {
    const page = await openPage(browser, `${host.web}${new URL(where, "http://x/").hash}`, options);
    await page.locator(".approval, .inbox li").first().waitFor();
    await page.waitForLoadState("networkidle");
    await picture(page, name);
  }
}

test("a real agent at work", async () => {
  const page = await openPage(browser, `${host.web}#/start`, { ...desktop, colorScheme: "light" });
  await page.evaluate((path) => localStorage.setItem("innkeeper.directory", path), project);
  await page.reload();
  const editor = page.locator("[data-composer]");
  await editor.waitFor();
  await frame(page, 1);
  for (const piece of prompt.match(/\S+\s*\S*\s*\S*\s*/g) ?? []) {
    await editor.pressSequentially(piece);
    await frame(page, 0.18);
  }
  await frame(page, 0.6);
  await editor.press("Enter");
  const approval = page.locator(".approval");
  const asks = (words: string) => async () => (await approval.count()) > 0 && (await approval.first().innerText()).includes(words);
  await until(page, asks("order.py"));
  await frame(page, 2);
  await page.keyboard.press("Alt+y");
  await until(page, asks("unittest"));
  await frame(page, 2);
  await pictures(page.url());
  await page.keyboard.press("Alt+y");
  await until(page, async () => (await page.locator(".turn-footer").count()) > 0);
  await frame(page, 1.5);
  await page.getByRole("button", { name: "Changes", exact: true }).click();
  const file = page.locator(".changes").getByRole("button", { name: /order\.py/ }).first();
  await file.waitFor();
  await frame(page, 0.6);
  if ((await page.locator(".changes .diff-added").count()) === 0) await file.click();
  await page.locator(".changes .diff-added").first().waitFor();
  await frame(page, 3);
  await picture(page, "changes-light");
  const list = shots.map(({ file, seconds }) => `file '${file}'\nduration ${seconds}\n`).join("");
  writeFileSync(join(scratch, "frames.txt"), list + `file '${shots.at(-1)!.file}'\n`);
  const filter = "scale=960:-1:flags=lanczos,split[a][b];[a]palettegen=max_colors=96:stats_mode=diff[p];[b][p]paletteuse=dither=none:diff_mode=rectangle";
  const input = ["-f", "concat", "-safe", "0", "-i", join(scratch, "frames.txt")];
  execFileSync("ffmpeg", ["-y", "-loglevel", "error", ...input, "-vf", filter, "-fps_mode", "vfr", join(images, "recording.gif")]);
});
