// Pictures of the whole client, compared pixel by pixel with those that were
// taken before: `npm run screens`, and `npm run screens:update` to take them
// anew. axe has nothing to say about any of them.
//
// Another Chromium, and another machine's fonts, draw letters a little
// differently. So pictures are compared only where a sample of text looks as it
// did when they were taken; elsewhere they are skipped, and the reason is given.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { axeFindings, launch } from "../harness";
import { ORIGIN, play } from "./fakeHost";
import { SCREENS } from "./list";
import type { Screen } from "./list";
import { NOW, SCENES } from "./scenes";

const directory = new URL("./pictures/", import.meta.url).pathname;
const record = join(directory, "record.json");
const failures = join(directory, "failed");
const isTaking = process.env["SCREENS"] === "update";
const MOST_BYTES = 6 * 1024 * 1024;
/** How far a colour may be off before it counts as another, of 255. */
const TOLERANCE = 4;

/** How many pixels may differ: a busy machine now and then rounds a corner otherwise. */
const MOST_PIXELS = 8;

interface Record {
  /** The major version. */
  chromium: string;
  /** The digest of a picture of text in the system's fonts. */
  letters: string;
}

const SAMPLE = ["sans-serif", "serif", "monospace"].map((family) => `<p style="font: 16px ${family}">Hamburgefonstiv 0123 أصلح الخطأ →</p>`).join("");

let browser: Browser;
let here: Record;
let known: Record | undefined;

beforeAll(async () => {
  browser = await launch();
  const page = await browser.newPage();
  await page.setContent(SAMPLE);
  const letters = createHash("sha256").update(await page.screenshot()).digest("hex").slice(0, 16);
  await page.close();
  here = { chromium: browser.version().split(".")[0] ?? "", letters };
  known = existsSync(record) ? (JSON.parse(readFileSync(record, "utf8")) as Record) : undefined;
  if (isTaking) rmSync(directory, { recursive: true, force: true });
  rmSync(failures, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
});

afterAll(async () => {
  await browser?.close();
  if (isTaking) writeFileSync(record, `${JSON.stringify(here, null, 2)}\n`);
});

/** Why pictures cannot be compared here, if so. */
function whyNot(): string | undefined {
  if (!known) return "no pictures were taken yet (npm run screens:update)";
  if (known.chromium !== here.chromium) return `the pictures are from Chromium ${known.chromium}, and this is ${here.chromium}`;
  return known.letters === here.letters ? undefined : "this machine has other fonts, or draws them differently";
}

describe("screens", () => {
  test("there are at least 60, each with a name of its own", () => {
    expect(SCREENS.length).toBeGreaterThanOrEqual(60);
    expect(new Set(SCREENS.map(({ name }) => name)).size).toBe(SCREENS.length);
  });

  test.for(SCREENS)("$name", async (screen, { skip }) => {
    const { page, close } = await show(screen);
    try {
      expect(await axeFindings(page)).toEqual([]);
      const picture = await page.screenshot({ animations: "disabled", caret: "hide" });
      const file = join(directory, `${screen.name}.png`);
      if (isTaking) return writeFileSync(file, picture);
      const reason = whyNot();
      if (reason) skip(`not compared: ${reason}`);
      const isThere = existsSync(file);
      const differing = isThere ? await pixelsApart(page, readFileSync(file), picture) : Number.MAX_SAFE_INTEGER;
      if (differing > MOST_PIXELS) {
        mkdirSync(failures, { recursive: true });
        writeFileSync(join(failures, `${screen.name}.png`), picture);
      }
      expect(isThere, `there is no picture ${screen.name}; take them anew`).toBe(true);
      expect(differing, `see ${failures}/${screen.name}.png`).toBeLessThanOrEqual(MOST_PIXELS);
    } finally {
      await close();
    }
  });

  test("all pictures together have at most 6 MB", () => {
    const pictures = readdirSync(directory).filter((name) => name.endsWith(".png"));
    const bytes = pictures.reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
    console.log(`${pictures.length} pictures, ${(bytes / 1024 / 1024).toFixed(1)} MB`);
    expect(bytes).toBeLessThanOrEqual(MOST_BYTES);
  });
});

async function show({ scene, path, options, act }: Screen): Promise<{ page: Page; close: () => Promise<void> }> {
  const context = await browser.newContext({ ...options, locale: "en-US", timezoneId: "UTC", reducedMotion: "reduce", serviceWorkers: "block", deviceScaleFactor: 1 });
  await play(context, SCENES[scene]);
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  await page.clock.setFixedTime(NOW);
  await page.goto(`${ORIGIN}/${path}`);
  await page.locator(scene === "refused" ? '.app[data-phase="refused"]' : '.app[data-phase="connected"]').waitFor();
  await settled(page);
  await act(page);
  await settled(page);
  return { page, close: () => context.close() };
}

/** Until nothing is on its way and two looks at the page are the same. */
async function settled(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle");
  await page.evaluate(() => document.fonts.ready);
  await expect.poll(() => page.locator(".skeletons, .spinner").count()).toBe(0);
  let before: Buffer | undefined;
  await expect
    .poll(async () => {
      const now = await page.screenshot({ animations: "disabled", caret: "hide" });
      const isSame = before?.equals(now) ?? false;
      before = now;
      return isSame;
    })
    .toBe(true);
}

/** How many pixels of two pictures differ, counted by the browser. */
async function pixelsApart(page: Page, one: Buffer, other: Buffer): Promise<number> {
  if (one.equals(other)) return 0;
  const blank = await page.context().newPage();
  const pictures = [one, other].map((picture) => picture.toString("base64"));
  return blank.evaluate(
    async ({ pictures: encoded, tolerance }) => {
      const [a, b] = await Promise.all(
        encoded.map(async (data) => {
          const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(data), (char) => char.charCodeAt(0))]));
          const pen = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
          pen?.drawImage(bitmap, 0, 0);
          return pen?.getImageData(0, 0, bitmap.width, bitmap.height);
        }),
      );
      if (!a || !b || a.width !== b.width || a.height !== b.height) return Number.MAX_SAFE_INTEGER;
      let differing = 0;
      for (let at = 0; at < a.data.length; at += 4) {
        if ([0, 1, 2].some((part) => Math.abs((a.data[at + part] ?? 0) - (b.data[at + part] ?? 0)) > tolerance)) differing++;
      }
      return differing;
    },
    { pictures, tolerance: TOLERANCE },
  );
}
