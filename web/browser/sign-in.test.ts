// An agent that wants somebody to sign in, from the page.

import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { axeFindings, hostAndBrowser, said, send } from "./harness";

const KEY = "sk-right-and-secret";

/** Works for whoever has the key, or has gone through the door. */
const AGENT = `
answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\\n' "$1" "$2"; }
while read -r line; do
  id=\${line#*\\"id\\":}
  id=\${id%%[,\\}]*}
  case $line in
  *'"method":"initialize"'*)
    answer "$id" '"result":{"protocolVersion":1,"agentCapabilities":{},"authMethods":[{"id":"key","name":"API key","type":"env_var","vars":[{"name":"KEYED_KEY"}]},{"id":"door","name":"Terminal","_meta":{"terminal-auth":{"command":"/bin/sh","args":["'"$LOGIN"'"]}}}]}' ;;
  *'"method":"session/new"'*)
    test -e "$DOOR" && KEYED_KEY=${KEY}
    case $KEYED_KEY in
    ${KEY}) answer "$id" '"result":{"sessionId":"s"}' ;;
    *) answer "$id" '"error":{"code":-32000,"message":"Authentication required"}' ;;
    esac ;;
  *'"method":"session/prompt"'*)
    printf '%s\\n' '{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Come in."}}}}'
    answer "$id" '"result":{"stopReason":"end_turn"}' ;;
  esac
done
`;

/** A login as many programs have it: an address, a code, and a question. */
const LOGIN = `
echo 'Open https://sign.in.example/device and enter AB-CD.'
echo "Password:"
read -r word
test "$word" = sesame && touch "$DOOR"
`;

const place = mkdtempSync(join(tmpdir(), "innkeeper-sign-in-"));
writeFileSync(join(place, "login.sh"), LOGIN);
const agent = (id: string, name: string) =>
  `[agents.${id}]\ncommand = "/bin/sh"\nargs = ["${join(place, "agent.sh")}"]\nname = "${name}"\n` +
  `env = { LOGIN = "${join(place, "login.sh")}", DOOR = "${join(place, id)}" }\n`;
writeFileSync(join(place, "agent.sh"), AGENT);
writeFileSync(
  join(place, "innkeeper.toml"),
  `agent_environment = "strict"\n${agent("keyed", "Keyed")}default = true\n${agent("doored", "Doored")}`,
);
afterAll(() => rmSync(place, { recursive: true, force: true }));

const inn = hostAndBrowser(["--without-connection-token", "--config", join(place, "innkeeper.toml"), "--agents", "keyed,doored"]);

test("a key is asked for, kept to the host, and the message is answered in the same turn", async () => {
  const page = await inn.open("#/new");
  await page.getByRole("radio", { name: /Keyed/ }).check();
  await page.getByRole("button", { name: "Start session" }).click();
  await page.locator("[data-composer]").click();
  await send(page, "May I come in?");
  const form = page.locator(".question-form");
  await form.getByText("How do you want to sign in to Keyed?").waitFor();
  await form.getByText("API key").click();
  expect(await axeFindings(page)).toEqual([]);
  await form.getByRole("button", { name: "Submit" }).click();
  const field = form.locator('input[type="password"]');
  await field.fill(KEY);
  await form.getByText("Until the host ends").click();
  await form.getByRole("button", { name: "Submit" }).click();
  await said(page, "Come in.").waitFor();
  expect(await page.content()).not.toContain(KEY);
  for (const file of filesIn(join(inn.host.directory, "data"))) {
    expect(readFileSync(file).includes(KEY), file).toBe(false);
  }
});

test("a command that signs in is typed into where the turn shows it, on a phone", async () => {
  const page = await inn.open("#/new", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await page.getByRole("radio", { name: /Doored/ }).check();
  await page.getByRole("button", { name: "Start session" }).click();
  // Enter begins a line there.
  await page.locator("[data-composer]").fill("May I come in?");
  await page.getByRole("button", { name: "Send", exact: true }).tap();
  const form = page.locator(".question-form");
  const begin = async () => {
    await form.getByText("Terminal").click();
    await form.getByRole("button", { name: "Submit" }).click();
    const link = page.getByRole("link", { name: "https://sign.in.example/device" });
    await link.last().waitFor();
    expect(await link.last().getAttribute("href")).toBe("https://sign.in.example/device");
  };
  const type = async (word: string) => {
    const terminal = page.locator(".tool[data-phase=running] .terminal-view");
    await terminal.getByText("Password:").waitFor();
    await terminal.locator(".xterm-screen").tap();
    await page.keyboard.type(`${word}\n`);
  };
  await begin();
  expect(await axeFindings(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await type("wrong");
  // What was wrong is said, and one is asked again.
  await form.getByText(/That did not work/).waitFor();
  await begin();
  await type("sesame");
  await said(page, "Come in.").waitFor();
});

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .map((name) => join(directory, name))
    .filter((file) => statSync(file).isFile());
}
