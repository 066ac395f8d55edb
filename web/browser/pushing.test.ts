// From changed files to a remote, with a real git behind the real host.

import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Page } from "playwright-core";
import { axeFindings, hostAndBrowser, play, repositoryIn, scenario, sessionIn } from "./harness";

const inn = hostAndBrowser();

function withRemote(name: string): { directory: string; remote: string; git: (...words: string[]) => string } {
  const directory = repositoryIn(join(inn.host.directory, name));
  const remote = join(inn.host.directory, `${name}.git`);
  execFileSync("git", ["init", "--quiet", "--bare", "--initial-branch=main", remote]);
  const git = (...words: string[]) => execFileSync("git", words, { cwd: directory, encoding: "utf8" });
  git("remote", "add", "origin", remote);
  git("push", "--quiet", "--set-upstream", "origin", "main");
  return { directory, remote, git };
}

async function changed(directory: string): Promise<Page> {
  const page = await inn.open("#/new");
  await sessionIn(page, directory);
  await play(page, scenario({ title: "Bake a cake" }, { edit: { path: "menu.txt", content: "soup\ncake\n" } }));
  await page.getByRole("button", { name: "Changes" }).click();
  await page.locator(".changes .diff-added", { hasText: "cake" }).waitFor();
  return page;
}

const showBranch = async (page: Page) => {
  await page.getByRole("button", { name: /^Which changes/ }).click();
  await page.getByRole("menuitemradio", { name: /branch/i }).click();
};

test("a commit takes the message that somebody wrote, and a push says where it went", async () => {
  const { directory, git } = withRemote("pushed");
  const page = await changed(directory);
  await page.locator(".changes").getByRole("button", { name: "Commit" }).click();
  const dialog = page.getByRole("dialog", { name: "Commit" });
  expect(await axeFindings(page)).toEqual([]);
  const message = dialog.getByRole("textbox", { name: "Message" });
  expect(await message.inputValue()).toContain("Bake a cake");
  await message.fill("Cake on the menu\n\nNobody wanted bread.");
  await message.press("Control+Enter");
  await page.getByText("Nothing has changed").waitFor();
  expect(git("log", "-1", "--format=%B").trim()).toBe("Cake on the menu\n\nNobody wanted bread.");
  await showBranch(page);
  await page.locator(".changes").getByRole("button", { name: "Push" }).waitFor();
  await page.locator(".changes").getByRole("button", { name: "Push" }).click();
  await page.getByRole("dialog", { name: "Push" }).getByRole("button", { name: "Push" }).click();
  await page.locator(".notice", { hasText: /main/ }).waitFor();
  expect(git("rev-parse", "origin/main")).toBe(git("rev-parse", "HEAD"));
});

test("what cannot be pushed says why in a sentence, and stays in sight", async () => {
  const { directory, remote } = withRemote("refused");
  const page = await changed(directory);
  await page.locator(".changes").getByRole("button", { name: "Commit" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Commit" }).click();
  await page.getByText("Nothing has changed").waitFor();
  rmSync(remote, { recursive: true });
  await showBranch(page);
  await page.locator(".changes").getByRole("button", { name: "Push" }).click();
  await page.getByRole("dialog", { name: "Push" }).getByRole("button", { name: "Push" }).click();
  await page.locator(".changes .problem").waitFor();
  await page.locator(".changes").getByRole("button", { name: /pull request/i }).click();
  await page.getByRole("dialog").getByRole("button", { name: /pull request/i }).click();
  await page.locator(".changes .problem", { hasText: /pull request/i }).waitFor();
});
