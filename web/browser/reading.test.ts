// What an answer and a change look like when they are read closely.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { axeFindings, hostAndBrowser, newSession, play, repositoryIn, scenario, sessionIn } from "./harness";

const inn = hostAndBrowser();
const { open } = inn;
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A repository with some code in it. */
function codeIn(name: string): string {
  const directory = repositoryIn(join(inn.host.directory, name));
  mkdirSync(join(directory, "src"));
  writeFileSync(join(directory, "src/app.ts"), lines());
  writeFileSync(join(directory, "logo.png"), Buffer.from(PIXEL, "base64"));
  writeFileSync(join(directory, "data.bin"), Buffer.from([0, 1, 2, 0, 255]));
  execFileSync("git", ["add", "."], { cwd: directory });
  execFileSync("git", ["commit", "--quiet", "--message=Code"], { cwd: directory });
  return directory;
}

function lines(changed: Record<number, string> = {}): string {
  return Array.from({ length: 60 }, (_, at) => `${changed[at] ?? `export const v${at} = ${at};`}\n`).join("");
}

const edited = scenario({ edit: { path: "src/app.ts", content: lines({ 10: "export const v10 = 11;", 50: "export const v50 = 51;" }) } });

describe("a difference", () => {
  test("has colours and marks the words that changed, with the file's own line numbers", async () => {
    const page = await open("#/new");
    await sessionIn(page, codeIn("marks"));
    await play(page, edited);
    const diff = page.locator(".tool .diff");
    await diff.locator(".diff-added .hljs-keyword", { hasText: "export" }).first().waitFor();
    expect(await diff.locator(".diff-removed mark").first().innerText()).toBe("10");
    expect(await diff.locator(".diff-added mark").first().innerText()).toBe("11");
    expect(await diff.locator(".diff-added").first().innerText()).toMatch(/^11\s/);
    expect(await page.locator(".tool .diff").count()).toBe(1);
  });

  test("is one column on a phone, whatever is chosen for larger windows", async () => {
    const page = await open("#/new", { viewport: { width: 1280, height: 800 } });
    await sessionIn(page, codeIn("narrow"));
    await play(page, edited);
    await page.getByRole("button", { name: "Changes", exact: true }).click();
    await page.getByRole("button", { name: "Side by side" }).click();
    await page.locator(".diff-split").waitFor();
    await page.setViewportSize({ width: 390, height: 800 });
    await page.locator(".changes .diff-unified").waitFor();
    expect(await page.getByRole("button", { name: "Side by side" }).isVisible()).toBe(false);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole("button", { name: "Side by side" }).click();
    await page.locator(".changes .diff-unified").waitFor();
  });

  test("shows unchanged lines on demand, and goes from change to change", async () => {
    const page = await open("#/new");
    await sessionIn(page, codeIn("steps"));
    await play(page, edited);
    await page.getByRole("button", { name: "Changes", exact: true }).click();
    const diff = page.locator(".change .diff");
    await diff.getByRole("button", { name: "Show 33 unchanged lines" }).click();
    await expect.poll(() => diff.getByText("v30 = 30").count()).toBe(1);
    await page.locator(".change").getByRole("button", { name: "Next change" }).click();
    await page.getByText("Change 2 of 2").first().waitFor();
    await diff.locator(".diff-added", { hasText: "51" }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
  });

  test("of a picture shows the picture, and binary files are named as such", async () => {
    const directory = codeIn("binary");
    const page = await open("#/new");
    await sessionIn(page, directory);
    writeFileSync(join(directory, "logo.png"), Buffer.concat([Buffer.from(PIXEL, "base64"), Buffer.from([0])]));
    writeFileSync(join(directory, "data.bin"), Buffer.from([0, 9, 9, 0, 255]));
    await page.getByRole("button", { name: "Changes", exact: true }).click();
    await page.locator(".file-tree").getByText("data.bin").click();
    await page.getByText("This is a binary file.").waitFor();
    await page.locator(".file-tree").getByText("logo.png").click();
    await page.locator(".image-change img").nth(1).waitFor();
    expect(await page.locator(".image-change figcaption").allInnerTexts()).toEqual(["Before", "After"]);
  });

  test("that is empty offers nothing to discard or commit; all and one file are told apart", async () => {
    const page = await open("#/new");
    await sessionIn(page, codeIn("offers"));
    await page.getByRole("button", { name: "Changes", exact: true }).click();
    await page.getByText("Nothing has changed").waitFor();
    expect(await page.locator(".changes").getByRole("button").allInnerTexts()).toEqual([]);
    await play(page, edited);
    await page.locator(".changes").getByRole("button", { name: "Discard all" }).waitFor();
    await page.locator(".changes").getByRole("button", { name: "Discard this file" }).waitFor();
  });
});

describe("a picture in an answer", () => {
  test("is shown if it is one of the session's files, and a click shows all of it", async () => {
    const page = await open("#/new");
    await sessionIn(page, codeIn("gallery"));
    await play(page, scenario({ say: "![The sign](logo.png)\n\n![Gone](./none.png)\n\n![Elsewhere](/etc/logo.png)\n\n![Up](../../logo.png)\n\n![Far](https://example.org/x.png)" }));
    await page.locator('.md img[alt="The sign"]').waitFor();
    expect(await page.locator(".md img").count()).toBe(1);
    expect(await page.locator(".md .path-link").allInnerTexts()).toEqual(["Gone", "Elsewhere", "Up"]);
    await page.getByRole("button", { name: "Enlarge The sign" }).click();
    const dialog = page.getByRole("dialog", { name: "The sign" });
    await dialog.locator("img").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Close" }).click();
    await dialog.waitFor({ state: "detached" });
  });
});

test("paragraphs begin at the side of their own script", async () => {
  const page = await open();
  await newSession(page);
  await play(page, scenario({ say: "أصلح الخطأ في الجدولة.\n\nIt is mended." }));
  const beginsAtRight = (text: string) =>
    page.locator(".md p", { hasText: text }).evaluate((element) => {
      const range = document.createRange();
      range.selectNodeContents(element);
      const [words, all] = [range.getBoundingClientRect(), element.getBoundingClientRect()];
      return all.right - words.right < words.left - all.left;
    });
  expect(await beginsAtRight("أصلح")).toBe(true);
  expect(await beginsAtRight("mended")).toBe(false);
});

describe("files", () => {
  test("a path in an answer opens the file at its line, with the tree", async () => {
    const page = await open("#/new");
    await sessionIn(page, codeIn("reader"));
    await play(page, scenario({ say: "Look at `src/app.ts:41` and at `npm test`." }));
    expect(await page.locator(".path-link").count()).toBe(1);
    await page.locator(".path-link").click();
    const target = page.locator(".file-line.is-target");
    await target.waitFor();
    expect(await target.innerText()).toMatch(/41\s*export const v40 = 40;/);
    await page.locator(".file-browser").getByRole("button", { name: "menu.txt", exact: true }).click();
    await page.locator(".file-line", { hasText: "bread" }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
  });

  test("an open file is followed, and says when it changed and when it is gone", async () => {
    const directory = codeIn("followed");
    const page = await open("#/new");
    await sessionIn(page, directory);
    await play(page, scenario({ say: "Look at `src/app.ts:1`." }));
    await page.locator(".path-link").click();
    await page.locator(".file-view h3", { hasText: "bytes, changed" }).waitFor();
    writeFileSync(join(directory, "src/app.ts"), "export const other = 1;\n");
    await page.locator(".file-line", { hasText: "other" }).waitFor();
    await page.getByRole("status").filter({ hasText: "This file changed" }).waitFor();
    rmSync(join(directory, "src/app.ts"));
    await page.getByRole("status").filter({ hasText: "This file was deleted" }).waitFor();
    await page.locator(".file-line", { hasText: "other" }).waitFor();
  });

  test("one is duplicated, renamed and deleted after a question, and a folder is made", async () => {
    const directory = codeIn("named");
    const page = await open("#/new");
    await sessionIn(page, directory);
    await play(page, scenario({ say: "Look at `src/app.ts:1`." }));
    await page.locator(".path-link").click();
    await page.locator(".file-line").first().waitFor();
    const act = async (label: string) => {
      await page.getByRole("button", { name: "File actions" }).click();
      await page.getByRole("menuitem", { name: label }).click();
    };
    const tree = page.locator(".file-browser");
    await act("Duplicate");
    await tree.getByRole("button", { name: "app copy.ts", exact: true }).waitFor();
    await act("Rename…");
    await page.getByRole("dialog").getByLabel("Name").fill("other.ts");
    await page.getByRole("dialog").getByRole("button", { name: "Rename file" }).click();
    await tree.getByRole("button", { name: "other.ts", exact: true }).waitFor();
    expect(existsSync(join(directory, "src/app copy.ts"))).toBe(false);
    expect(await axeFindings(page)).toEqual([]);
    await act("New folder…");
    await page.getByRole("dialog").getByLabel("Name").fill("inner");
    await page.getByRole("dialog").getByRole("button", { name: "New folder" }).click();
    await tree.getByRole("button", { name: "inner", exact: true }).waitFor();
    await act("Delete…");
    expect(existsSync(join(directory, "src/other.ts"))).toBe(true);
    await page.getByRole("button", { name: "Delete file" }).click();
    await expect.poll(() => existsSync(join(directory, "src/other.ts"))).toBe(false);
    expect(existsSync(join(directory, "src/app.ts"))).toBe(true);
  });

  test("a path that leads nowhere says so", async () => {
    const page = await open("#/new");
    await sessionIn(page, codeIn("nowhere"));
    await play(page, scenario({ say: "See `src/gone.ts`." }));
    await page.locator(".path-link").click();
    await page.getByText(/gone\.ts cannot be shown/).waitFor();
  });
});

test("formulas are MathML, and what is not one stays as it was written", async () => {
  const page = await open();
  await newSession(page);
  await play(page, scenario({ say: "So \\(a^2\\) and\n\n$$\n\\frac{1}{2}\n$$\n\nbut not $$\\frac{$$ for $5.\n\n> [!TIP]\n> **Good**\n\nPress <kbd>Ctrl</kbd>.[^1]\n\n[^1]: A note.\n" }));
  await page.locator(".md math mfrac").waitFor();
  expect(await page.locator(".md math msup").count()).toBe(1);
  await page.locator(".md code", { hasText: "\\frac{" }).waitFor();
  await page.locator(".md-alert-tip strong").waitFor();
  await page.locator(".md kbd", { hasText: "Ctrl" }).waitFor();
  await page.getByRole("button", { name: "Footnote 1" }).click();
  expect(await axeFindings(page)).toEqual([]);
});
