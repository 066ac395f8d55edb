// Pictures of the whole client, compared pixel by pixel with those that were
// taken before: `npm run screens`, and `npm run screens:update` to take them
// anew. axe has nothing to say about any of them. They are written anew before
// they are kept: a browser is in a hurry, and makes them half as large again.
//
// Another Chromium, and another machine's fonts, draw letters a little
// differently. So pictures are compared only where a sample of text looks as it
// did when they were taken; elsewhere they are skipped, and the reason is given.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";
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
const MOST_BYTES = 5_000_000;
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
      expect(await axeFindings(page, "anything")).toEqual([]);
      const picture = await page.screenshot({ animations: "disabled", caret: "hide" });
      const file = join(directory, `${screen.name}.png`);
      if (isTaking) return writeFileSync(file, await small(page, picture));
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

  test("all pictures together have at most 5 MB", () => {
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

/** The same picture in fewer bytes: letters on plain ground are smallest without filters. */
async function small(page: Page, picture: Buffer): Promise<Buffer> {
  const blank = await page.context().newPage();
  const { width, height, pixels } = await blank.evaluate(async (data) => {
    const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(data), (char) => char.charCodeAt(0))]));
    const pen = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    pen?.drawImage(bitmap, 0, 0);
    const { data: all } = pen?.getImageData(0, 0, bitmap.width, bitmap.height) ?? { data: [] };
    return { width: bitmap.width, height: bitmap.height, pixels: btoa(Array.from(all, (byte) => String.fromCharCode(byte)).join("")) };
  }, picture.toString("base64"));
  const made = png(width, height, Buffer.from(pixels, "base64"));
  expect(await pixelsApart(page, made, picture, 0), "nothing is lost").toBe(0);
  return made;
}

/** Pixels of red, green, blue and what is not needed, as a PNG. */
function png(width: number, height: number, pixels: Buffer): Buffer {
  const rows = Buffer.alloc(height * (1 + 3 * width));
  for (let at = 0, to = 0; at < pixels.length; at += 4) {
    if (at % (4 * width) === 0) to++;
    to += pixels.copy(rows, to, at, at + 3);
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2], 8);
  const chunk = (kind: string, data: Buffer) => {
    const named = Buffer.concat([Buffer.from(kind), data]);
    const [length, check] = [data.length, crc32(named)].map((number) => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(number);
      return bytes;
    });
    return Buffer.concat([length, named, check].filter((part) => part !== undefined));
  };
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk("IHDR", head), chunk("IDAT", deflateSync(rows, { level: 9, memLevel: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

/** How many pixels of two pictures differ by more than a little, counted by the browser. */
async function pixelsApart(page: Page, one: Buffer, other: Buffer, tolerated = TOLERANCE): Promise<number> {
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
    { pictures, tolerance: tolerated },
  );
}
