// How much a browser has to load, as it is sent: compressed.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";

const KB = 1024;
const COMPRESSED = /\.(?:gz|br)$/;
const root = new URL("..", import.meta.url).pathname;
let out: string;
let sizes: Map<string, number>;

beforeAll(() => {
  out = mkdtempSync(join(tmpdir(), "innkeeper-web-build-"));
  // In a process of its own: tests run with the development build of React.
  const vite = join(root, "node_modules/vite/bin/vite.js");
  const env = { ...process.env, NODE_ENV: "production" };
  execFileSync(process.execPath, [vite, "build", "--outDir", out, "--emptyOutDir", "--logLevel", "error"], { cwd: root, env });
  const names = readdirSync(join(out, "assets")).filter((name) => !COMPRESSED.test(name));
  sizes = new Map(names.map((name) => [name, gzipSync(readFileSync(join(out, "assets", name))).length / KB]));
}, 120_000);

afterAll(() => rmSync(out, { recursive: true, force: true }));

/** What the page itself names, with what those files import at once. */
function initial(extension: string): string[] {
  const html = readFileSync(join(out, "index.html"), "utf8");
  return [...html.matchAll(/assets\/([\w.-]+)/g)].map(([, name]) => name ?? "").filter((name) => name.endsWith(extension));
}

const total = (names: string[]) => names.reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);

test("the initial JavaScript is at most 150 KB", () => {
  const figure = total(initial(".js"));
  console.log(`initial JavaScript: ${figure.toFixed(1)} KB gzip`);
  expect(figure).toBeGreaterThan(10);
  expect(figure).toBeLessThanOrEqual(150);
});

test("a session loads at most 75 KB in addition", () => {
  const manifest = readFileSync(join(out, "precache.json"), "utf8");
  const view = /assets\/(SessionView-[\w-]+\.js)/.exec(manifest)?.[1] ?? "";
  const eager = new Set(initial(".js"));
  const needed = new Set<string>();
  const visit = (name: string) => {
    if (eager.has(name) || needed.has(name) || !sizes.has(name)) return;
    needed.add(name);
    const code = readFileSync(join(out, "assets", name), "utf8");
    // What is imported at once, and not what is asked for later.
    for (const [, next = ""] of code.matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g)) visit(next);
  };
  visit(view);
  const figure = total([...needed]);
  console.log(`a session in addition: ${figure.toFixed(1)} KB gzip`);
  expect(figure).toBeGreaterThan(10);
  expect(figure).toBeLessThanOrEqual(75);
});

test("the initial style sheet is at most 15 KB", () => {
  const figure = total(initial(".css"));
  console.log(`initial CSS: ${figure.toFixed(1)} KB gzip`);
  expect(figure).toBeLessThanOrEqual(15);
});

test("every lazy chunk is at most 100 KB", () => {
  const eager = new Set([...initial(".js"), ...initial(".css")]);
  for (const [name, size] of sizes) if (!eager.has(name)) expect(size, name).toBeLessThanOrEqual(100);
});

test("all that is served is at most 2 MB", () => {
  const files = readdirSync(out, { recursive: true, encoding: "utf8" }).map((name) => join(out, name));
  const plain = files.filter((path) => statSync(path).isFile() && !COMPRESSED.test(path));
  const figure = plain.reduce((sum, path) => sum + statSync(path).size, 0) / KB;
  console.log(`all assets: ${figure.toFixed(0)} KB`);
  expect(figure).toBeLessThanOrEqual(2 * KB);
});

test("the page asks for nothing inline and nothing from elsewhere", () => {
  const html = readFileSync(join(out, "index.html"), "utf8");
  expect(html).not.toMatch(/<script(?![^>]*src=)|<style|https?:\/\//);
});

test("every script and style sheet has both compressed forms, and they are smaller", () => {
  for (const name of [...sizes.keys()].filter((name) => !name.endsWith(".woff2"))) {
    const plain = statSync(join(out, "assets", name)).size;
    const [gzip, brotli] = ["gz", "br"].map((form) => statSync(join(out, "assets", `${name}.${form}`)).size);
    expect(brotli, name).toBeLessThanOrEqual(gzip ?? 0);
    expect(gzip, name).toBeLessThan(plain + 32);
  }
});
