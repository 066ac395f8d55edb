// One turn in a browser, on a host that runs already: `npm run turn -- URL`.

import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const url = process.argv[2];
const browsers = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = browsers.find((path) => path && existsSync(path));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"] });
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(30_000);
  const [address, query = ""] = url.split("?");
  await page.goto(`${address}?${query}#/new`);
  await page.waitForSelector('.app[data-phase="connected"]');
  await page.getByRole("button", { name: "Start session" }).click();
  const editor = page.locator("[data-composer]");
  await editor.fill("hello");
  await editor.press("Enter");
  await page.getByText("I am the script agent").waitFor();
  console.log(`a turn in ${browser.version()}: ${(await page.title()).trim()}`);
} finally {
  await browser.close();
}
