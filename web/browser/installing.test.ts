// Agents that are installed from the page, by a package manager that is told
// when to go on.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { launch, openPage, startHost } from "./harness";

const REGISTRY = {
  agents: [{ id: "noded", name: "Noded", version: "1.0.0", description: "Plays an agent", distribution: { npx: { package: "noded@1.0.0" } } }],
};

const NPM = `#!/bin/sh
place=$(dirname "$0")
case "$1" in
view) echo '"sha512-x"' ;;
install)
  echo 'fetching noded' >&2
  test "$(cat "$place/go")" = well || { echo 'no such package' >&2; exit 1; }
  mkdir -p node_modules/.bin node_modules/noded
  printf '#!/bin/sh\\n' > node_modules/.bin/noded
  chmod 755 node_modules/.bin/noded
  echo '{}' > node_modules/noded/package.json
  echo '{"packages": {"node_modules/noded": {"integrity": "sha512-x"}}}' > package-lock.json ;;
esac
`;

test("an agent is installed with progress, fails with a reason, and can be chosen when it is there", async () => {
  const place = mkdtempSync(join(tmpdir(), "innkeeper-web-npm-"));
  writeFileSync(join(place, "innkeeper.toml"), "agent_environment = 'strict'\n");
  writeFileSync(join(place, "registry.json"), JSON.stringify(REGISTRY));
  writeFileSync(join(place, "npm"), NPM, { mode: 0o755 });
  const go = join(place, "go");
  execFileSync("mkfifo", [go]);
  const flags = ["--without-connection-token", "--config", join(place, "innkeeper.toml")];
  const [host, browser] = await Promise.all([startHost(flags, { agents: [], path: `${place}:/usr/bin:/bin` }), launch()]);
  onTestFinished(async () => {
    await browser.close();
    await host.stop();
    for (const directory of [host.directory, place]) rmSync(directory, { recursive: true, force: true });
  });
  const page = await openPage(browser, `${host.web}#/`);
  const agents = page.locator("main").getByRole("button", { name: /^Agent/ });
  await agents.click();
  await page.getByRole("menuitem", { name: /Install another agent/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("noded@1.0.0").waitFor();

  await dialog.getByRole("button", { name: "Install Noded" }).click();
  await dialog.getByText("fetching noded").waitFor();
  await dialog.getByRole("button", { name: "Cancel: Noded" }).waitFor();
  writeFileSync(go, "badly");
  await dialog.getByRole("alert").filter({ hasText: "no such package" }).waitFor();

  await dialog.getByRole("button", { name: "Install Noded" }).click();
  await dialog.getByText("fetching noded").waitFor();
  writeFileSync(go, "well");
  await dialog.getByText("Version 1.0.0 is installed").waitFor();
  await dialog.getByRole("button", { name: "Done" }).click();
  await agents.click();
  await page.getByRole("menuitemradio", { name: /Noded/ }).waitFor();
  expect(await page.getByRole("dialog").count()).toBe(0);
});
