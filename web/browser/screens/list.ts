// Every picture: which scene, which page, what was done there, and how large the
// window is.

import type { BrowserContextOptions, Page } from "playwright-core";
import { hrefOf } from "../../src/app/address";
import { OPEN } from "./scenes";
import type { SceneName } from "./scenes";

const desktop = { viewport: { width: 1000, height: 640 } };
const phone = { viewport: { width: 390, height: 700 }, hasTouch: true, isMobile: true };
const tablet = { viewport: { width: 820, height: 760 }, hasTouch: true, isMobile: true };
const wide = { viewport: { width: 1440, height: 700 } };

const WINDOWS = { desktop, phone, tablet, wide };
type Window = keyof typeof WINDOWS;

interface Shot {
  name: string;
  scene: SceneName;
  path?: string;
  /** In which windows, in light; in dark it is taken in the first of them. */
  windows?: Window[];
  isOnlyLight?: boolean;
  act?: (page: Page) => Promise<void>;
}

const session = hrefOf({ view: "session", session: OPEN, chat: null });
const withPane = (pane: "changes" | "details" | "terminals") => hrefOf({ view: "session", session: OPEN, chat: null, pane });
const click = (name: string | RegExp) => (page: Page) => page.locator("main").getByRole("button", { name }).first().click();

const SHOTS: Shot[] = [
  { name: "home", scene: "usual", windows: ["desktop", "tablet", "wide"] },
  { name: "home-empty", isOnlyLight: true, scene: "empty" },
  { name: "home-without-agents", isOnlyLight: true, scene: "noAgents" },
  { name: "start", scene: "usual", path: "#/start", windows: ["phone"] },
  { name: "list", scene: "usual", windows: ["phone"] },
  { name: "list-many", isOnlyLight: true, scene: "many", windows: ["desktop", "phone"] },
  { name: "list-long-names", isOnlyLight: true, scene: "longNames", windows: ["phone"] },
  { name: "list-by-project", isOnlyLight: true, scene: "usual", act: grouped("Project") },
  { name: "list-by-status", isOnlyLight: true, scene: "usual", act: grouped("Status") },
  { name: "list-selecting", isOnlyLight: true, scene: "usual", act: selecting },
  { name: "list-menu", isOnlyLight: true, scene: "usual", act: (page) => page.locator(".session-row").nth(2).click({ button: "right" }) },
  { name: "home-agents", isOnlyLight: true, scene: "usual", act: click(/^Agent/) },
  { name: "home-many-models", isOnlyLight: true, scene: "manyModels", act: choosing },
  { name: "session-context", isOnlyLight: true, scene: "usual", path: session, act: click(/of context/) },
  { name: "home-options", isOnlyLight: true, scene: "usual", act: click("More options") },
  { name: "home-install", isOnlyLight: true, scene: "usual", act: installing },
  { name: "session", scene: "usual", path: session, windows: ["desktop", "phone", "tablet", "wide"] },
  { name: "session-fresh", isOnlyLight: true, scene: "fresh", path: session },
  { name: "session-long-name", isOnlyLight: true, scene: "longNames", path: session, windows: ["desktop", "phone"] },
  { name: "session-right-to-left", isOnlyLight: true, scene: "rightToLeft", path: session, windows: ["desktop", "phone"] },
  { name: "session-working", scene: "working", path: session, windows: ["desktop", "phone"] },
  { name: "session-many-tools", scene: "manyTools", path: session, windows: ["desktop", "phone"] },
  { name: "session-approval", scene: "approval", path: session, windows: ["desktop", "phone"] },
  { name: "session-plan", scene: "plan", path: session, windows: ["desktop", "phone"] },
  { name: "attempts", isOnlyLight: true, scene: "attempts", path: "#/attempts/roof", windows: ["wide"], act: comparing },
  { name: "attempts-phone", isOnlyLight: true, scene: "attempts", path: "#/attempts/roof", windows: ["phone"] },
  { name: "attempts-begin", isOnlyLight: true, scene: "usual", path: "#/start?attempts=3" },
  { name: "attempts-keep", isOnlyLight: true, scene: "attempts", path: "#/attempts/roof", act: (page) => page.getByRole("button", { name: "Keep this one" }).first().click() },
  { name: "session-question", scene: "question", path: session, windows: ["desktop", "phone"] },
  { name: "session-failed", scene: "failed", path: session },
  { name: "session-not-created", isOnlyLight: true, scene: "notCreated", path: session },
  { name: "session-read-only", isOnlyLight: true, scene: "readOnly", path: session },
  { name: "session-missing", isOnlyLight: true, scene: "usual", path: "#/s/ahp-session%3A%2Fgone" },
  { name: "session-commands", isOnlyLight: true, scene: "usual", path: session, act: typing("/") },
  { name: "session-menu", isOnlyLight: true, scene: "usual", path: session, act: click("Session actions") },
  { name: "session-without-sidebar", isOnlyLight: true, scene: "usual", path: session, act: (page) => page.keyboard.press("Control+KeyB") },
  { name: "changes", isOnlyLight: true, scene: "usual", path: withPane("changes"), windows: ["desktop", "phone"] },
  { name: "details", isOnlyLight: true, scene: "usual", path: withPane("details"), windows: ["desktop", "phone"] },
  { name: "terminals", isOnlyLight: true, scene: "usual", path: withPane("terminals") },
  { name: "inbox", scene: "approval", path: "#/inbox", windows: ["desktop", "phone"] },
  { name: "inbox-empty", isOnlyLight: true, scene: "empty", path: "#/inbox" },
  { name: "search", scene: "usual", path: "#/search?q=gutter" },
  { name: "search-empty", isOnlyLight: true, scene: "usual", path: "#/search" },
  { name: "new", isOnlyLight: true, scene: "usual", path: "#/new", windows: ["desktop", "phone"] },
  { name: "settings", isOnlyLight: true, scene: "usual", path: "#/settings", windows: ["desktop", "phone"] },
  { name: "automations", isOnlyLight: true, scene: "usual", path: "#/automations" },
  { name: "connect", isOnlyLight: true, scene: "usual", path: "#/connect" },
  { name: "refused", scene: "refused", windows: ["desktop", "phone"] },
  { name: "palette", isOnlyLight: true, scene: "usual", act: (page) => page.keyboard.press("Control+KeyK") },
  { name: "palette-found", isOnlyLight: true, scene: "usual", act: looking },
  { name: "keys", isOnlyLight: true, scene: "usual", path: "#/inbox", act: (page) => page.keyboard.press("?") },
  { name: "notices", isOnlyLight: true, scene: "usual", act: noticing },
];

export interface Screen {
  name: string;
  scene: SceneName;
  path: string;
  options: BrowserContextOptions;
  act: (page: Page) => Promise<void>;
}

export const SCREENS: Screen[] = SHOTS.flatMap(({ name, scene, path = "#/", windows = ["desktop"], isOnlyLight = false, act = () => Promise.resolve() }) => {
  const dark = isOnlyLight ? [] : [[windows[0] ?? "desktop", "dark"] as const];
  const taken = [...windows.map((window) => [window, "light"] as const), ...dark];
  return taken.map(([window, colorScheme]) => ({ name: `${name}-${window}-${colorScheme}`, scene, path, act, options: { ...WINDOWS[window], colorScheme } }));
});

function grouped(by: string): (page: Page) => Promise<void> {
  return async (page) => {
    await page.getByRole("button", { name: /Group and filter/ }).click();
    await page.getByRole("menuitemradio", { name: by, exact: true }).click();
  };
}

async function selecting(page: Page): Promise<void> {
  await page.locator(".session-row").nth(1).click({ modifiers: ["ControlOrMeta"] });
  await page.locator(".session-row").nth(3).click();
}

/** One of many models is chosen, and the list is opened again. */
async function choosing(page: Page): Promise<void> {
  await click(/^Model/)(page);
  await page.keyboard.type("el 42");
  await page.keyboard.press("Enter");
  await click(/^Model: Model 42/)(page);
}

async function installing(page: Page): Promise<void> {
  await click(/^Agent/)(page);
  await page.getByRole("menuitem", { name: /Install/ }).click();
}

/** Shows a file of all attempts; its colours come a moment later. */
async function comparing(page: Page): Promise<void> {
  await page.getByRole("button", { name: /roof\.rs/ }).first().click();
  for (const number of [0, 1]) await page.locator(".attempt").nth(number).locator(".attempt-diff [class*=keyword]").first().waitFor();
}

function typing(text: string): (page: Page) => Promise<void> {
  return async (page) => {
    await page.locator("[data-composer]").pressSequentially(text);
    await page.getByRole("option").first().waitFor();
  };
}

async function looking(page: Page): Promise<void> {
  await page.keyboard.press("Control+KeyK");
  await page.keyboard.type("gutter");
  await page.locator(".palette .snippet").first().waitFor();
}

async function noticing(page: Page): Promise<void> {
  await page.evaluate(() => {
    const { store } = (globalThis as never as { innkeeper: { store: { notify(notice: object): void } } }).innkeeper;
    for (let times = 0; times < 3; times++) store.notify({ tone: "error", text: "The command was not stopped: the host does not answer" });
    store.notify({ tone: "info", text: "Deleted “Sweep the yard”", action: { label: "Undo", run: () => {} } });
  });
  await page.locator(".notice").nth(1).waitFor();
}
