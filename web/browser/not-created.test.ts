// A session whose agent does not start: why, and another try with the same words.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { axeFindings, hostAndBrowser } from "./harness";

const place = mkdtempSync(join(tmpdir(), "innkeeper-not-created-"));
const agent = join(place, "agent.sh");
writeFileSync(agent, "#!/bin/sh\nexit 3\n");
chmodSync(agent, 0o755);
writeFileSync(join(place, "innkeeper.toml"), `[agents.broken]\ncommand = "${agent}"\nname = "Broken"\ndefault = true\n`);
afterAll(() => rmSync(place, { recursive: true, force: true }));

const inn = hostAndBrowser(["--without-connection-token", "--config", join(place, "innkeeper.toml"), "--agents", "broken"]);

test("a session that could not be created is tried again with what stands in its editor, and the failed one goes", async () => {
  const page = await inn.open("#/new");
  await page.getByRole("radio", { name: /Broken/ }).check();
  await page.getByRole("button", { name: "Start session" }).click();
  const callout = page.locator(".not-created");
  await callout.waitFor();
  expect(await callout.innerText()).not.toContain("`");
  expect(await axeFindings(page)).toEqual([]);
  await page.locator("[data-composer]").fill("Are you there?");
  const failed = page.url();
  await callout.getByRole("button", { name: "Try again" }).click();
  await page.waitForURL((url) => url.href !== failed);
  await callout.waitFor();
  await expect.poll(() => page.locator("[data-composer]").inputValue()).toBe("Are you there?");
  await expect.poll(() => page.locator(".session-row").count()).toBe(1);
  await callout.getByRole("button", { name: "Delete session" }).click();
  await expect.poll(() => page.locator(".session-row").count()).toBe(0);
});
