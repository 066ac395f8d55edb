// Whatever is at hand goes along with a message: folders of this device, and
// files, folders and lines of the session.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { axeFindings, entries, hostAndBrowser, newSession, play, repositoryIn, scenario, sessionIn } from "./harness";

const at = hostAndBrowser();

test("a folder of this device: its files under their paths, without what nobody wants to send", async () => {
  const folder = join(at.host.directory, "recipes");
  for (const inner of ["", "soups", ".git", "node_modules"]) mkdirSync(join(folder, inner), { recursive: true });
  for (const file of ["cake.md", "soups/leek.md", ".git/config", "node_modules/much.js"]) writeFileSync(join(folder, file), "text");
  const page = await at.open();
  await newSession(page);
  await page.getByLabel("Attach a folder").setInputFiles(folder);
  await expect.poll(() => page.locator(".attachment-strip .chip").allInnerTexts()).toEqual(["recipes/cake.md", "recipes/soups/leek.md"]);
  await play(page, scenario({ echo: "attachments" }));
  expect(await entries(page, "assistant").innerText()).toContain("recipes/soups/leek.md");
});

test("files, folders and lines of the session, from the pane that shows them", async () => {
  const page = await at.open("#/new");
  await sessionIn(page, repositoryIn(join(at.host.directory, "session")));
  await page.getByRole("button", { name: "Attach", exact: true }).click();
  await page.getByRole("menuitem", { name: "From the session’s files…" }).click();
  const files = page.getByRole("navigation", { name: "Files of the session" });
  await files.getByRole("button", { name: "menu.txt", exact: true }).click();
  await files.getByRole("button", { name: "Attach menu.txt" }).click();
  await files.getByRole("button", { name: "Attach session" }).click();
  await files.getByRole("button", { name: "Attach session" }).click();
  const text = page.getByRole("region", { name: "Text of menu.txt" });
  await text.getByText("bread").dblclick();
  await page.getByRole("button", { name: "Attach line 2" }).click();
  const chips = page.locator(".attachment-strip .chip");
  await expect.poll(() => chips.allInnerTexts()).toEqual(["menu.txt", "session", "menu.txt:2"]);
  expect(await axeFindings(page)).toEqual([]);
  await play(page, scenario({ echo: "attachments" }));
  const told = await entries(page, "assistant").innerText();
  for (const label of ["menu.txt", "session", "menu.txt:2"]) expect(told).toContain(label);
});

test("a phone takes a picture for the message", async () => {
  const page = await at.open("#/", { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true });
  await newSession(page);
  await page.getByRole("button", { name: "Attach", exact: true }).tap();
  const choosing = page.waitForEvent("filechooser");
  await page.getByRole("menuitem", { name: "Take a picture…" }).tap();
  const chooser = await choosing;
  expect(await chooser.element().getAttribute("capture")).toBe("environment");
  await chooser.setFiles({ name: "roof.png", mimeType: "image/png", buffer: Buffer.from("iVBORw0KGgo=", "base64") });
  await page.locator(".attachment-strip .chip", { hasText: "roof.png" }).waitFor();
});
