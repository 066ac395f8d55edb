// Settings that follow the user, and signing in.

import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { axeFindings, hostAndBrowser, newSession, play } from "./harness";

const theme = (page: Page) => page.evaluate(() => document.documentElement.dataset["theme"]);

describe("settings", () => {
  const { open } = hostAndBrowser();

  test("the appearance follows the user to another browser, and stays after a reload", async () => {
    const first = await open("#/settings", { colorScheme: "light" });
    const second = await open("#/", { colorScheme: "light" });
    await first.getByLabel("Dark").check();
    await expect.poll(() => theme(second)).toBe("dark");
    await second.reload();
    await expect.poll(() => theme(second)).toBe("dark");
    await first.getByLabel("System").check();
    await expect.poll(() => theme(second)).toBe(undefined);
  });

  test("what nobody has chosen is shown as what it is", async () => {
    const page = await open("#/settings");
    for (const label of ["System", "Unified"]) await expect.poll(() => page.getByLabel(label).isChecked()).toBe(true);
  });

  test("how differences are shown is chosen once for all", async () => {
    const page = await open("#/settings");
    await page.getByLabel("Side by side").check();
    const other = await open("#/settings");
    expect(await other.getByLabel("Side by side").isChecked()).toBe(true);
    await other.getByLabel("Unified").check();
    await expect.poll(() => page.getByLabel("Unified").isChecked()).toBe(true);
  });
});

describe("an agent that wants a token", () => {
  const config = join(tmpdir(), `innkeeper-web-${process.pid}.toml`);
  writeFileSync(config, '[script]\ntoken_for = "https://models.example/api"\n');
  const { open } = hostAndBrowser(["--without-connection-token", "--config", config]);

  test("is signed in to where the session is started", async () => {
    const page = await open("#/new");
    await page.getByRole("button", { name: "Start session" }).click();
    await page.getByRole("heading", { name: /sign in first/ }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.getByLabel(/Token for/).fill("a-secret");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: /sign in first/ }).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Start session" }).click();
    await page.locator("[data-composer]").waitFor();
    await play(page, "hello");
  });

  test("can be signed in to from the settings", async () => {
    const page = await open("#/settings");
    await page.getByLabel(/Token for/).fill("another-secret");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("Signed in.").waitFor();
    await newSession(page);
  });
});
