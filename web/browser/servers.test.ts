// What the host says besides the state of sessions: MCP servers on their own
// channels, its log, its turns and its metrics.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { axeFindings, hostAndBrowser, newSession, play, sessionIn } from "./harness";

const place = mkdtempSync(join(tmpdir(), "innkeeper-web-"));

/** An MCP server with one tool, and another one as soon as there is a file `more`. */
const SERVER = `
const fs = require("node:fs");
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const has = () => fs.existsSync("${place}/more");
fs.watch("${place}", () => {
  if (!has()) return;
  say({ method: "notifications/tools/list_changed" });
  say({ method: "notifications/message", params: { level: "info", data: "one more" } });
});
const icons = [{ src: "https://elsewhere.example/i.png" }, { src: "data:image/svg+xml;base64,PHN2ZyB4bWxucz0naHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmcnLz4=" }];
const answers = {
  initialize: () => ({ protocolVersion: "2025-11-25", capabilities: { tools: { listChanged: true }, prompts: {}, logging: {} }, serverInfo: { name: "s", version: "1", icons } }),
  "tools/list": () => ({ tools: [{ name: "look", description: "Looks around" }, ...(has() ? [{ name: "dig" }] : [])].map((tool) => ({ inputSchema: { type: "object" }, ...tool })) }),
  "prompts/list": () => ({ prompts: [{ name: "greet" }] }),
};
let text = "";
process.stdin.on("data", (data) => {
  const lines = (text += data).split("\\n");
  text = lines.pop();
  for (const { id, method } of lines.map((line) => JSON.parse(line))) if (id !== undefined) say({ id, result: answers[method]() });
});
process.stdin.on("end", () => process.exit());
`;

writeFileSync(join(place, "server.cjs"), SERVER);
const config = join(place, "innkeeper.toml");
const command = `command = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(join(place, "server.cjs"))}]\n`;
writeFileSync(config, `[telemetry]\ninterval_seconds = 1\n\n[mcp.pantry]\n${command}`);
afterAll(() => rmSync(place, { recursive: true, force: true }));
const inn = hostAndBrowser(["--without-connection-token", "--config", config]);

test("a server says itself what it offers, and what has changed", async () => {
  const page = await inn.open("#/new");
  const elsewhere: string[] = [];
  page.on("request", (request) => void (request.url().includes("elsewhere") && elsewhere.push(request.url())));
  const directory = join(inn.host.directory, "kitchen");
  mkdirSync(directory);
  await sessionIn(page, directory);
  await play(page, "hello there");
  await page.getByRole("button", { name: "Session actions" }).click();
  await page.getByRole("menuitem", { name: "Details and settings" }).click();
  await page.locator(".customization", { hasText: "pantry" }).getByText("ready").waitFor();
  await page.getByText("What pantry offers").click();
  const offer = page.locator(".server-offer");
  await offer.getByText("look").waitFor();
  await offer.getByText("greet").waitFor();
  expect(await offer.locator("section").count()).toBe(2);
  expect(await axeFindings(page)).toEqual([]);
  writeFileSync(join(place, "more"), "");
  await offer.getByText("dig").waitFor();
  await offer.getByText("Latest log message: info: one more").waitFor();
  await page.locator("img.customization-icon").waitFor();
  expect(elsewhere).toEqual([]);
});

test("the log of the host and its turns are in the settings while they are open", async () => {
  const page = await inn.open("#/settings");
  await page.getByText("Host log").click();
  await page.getByText("Turns and tools of the host").click();
  await page.getByText("Waiting for a turn or a tool call to end…").waitFor();
  const other = await inn.open();
  await newSession(other);
  await play(other, "hello");
  await page.getByRole("cell", { name: /^turn .*script/ }).waitFor();
  await page.getByRole("cell", { name: /^a client creates a session/ }).waitFor();
  // Another level is another channel, which begins anew.
  await page.getByLabel("Least level").selectOption("error");
  await page.getByText("Waiting for messages…").waitFor();
  expect(await axeFindings(page)).toEqual([]);
});

test("the metrics of the host are in the settings", async () => {
  const page = await inn.open("#/settings");
  await page.getByText("Host metrics").click();
  await page.locator(".metrics").getByRole("rowheader", { name: "innkeeper_sessions", exact: true }).waitFor();
  expect(await axeFindings(page)).toEqual([]);
});
