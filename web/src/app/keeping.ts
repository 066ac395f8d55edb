// This page's place in the browser's storage: its name, which a reload keeps,
// and what it takes over from pages that are gone.

import { newId } from "../lib/id";
import type { Host } from "./host";
import { PictureDatabase } from "./pictures";
import { BrowserShelf } from "./shelf";

const PAGE = "innkeeper.page";
const LOCK = "innkeeper.page.";
/** Where pages cannot be asked, one that wrote nothing for this long counts as gone. */
const SILENT_MS = 60_000;
/** A page that is being left lets go of its name within this time. */
const LETTING_GO_MS = 3_000;

const FULL = "The browser’s storage is full. What you type is lost when you close this page.";

/** Nothing to write to: the words live as long as the page. */
const NO_STORAGE = { getItem: () => null, setItem: () => {}, removeItem: () => {}, key: () => null, length: 0 };

export class Keeping {
  private page = pageName();
  private host: Host | undefined;
  private isFull = false;
  readonly shelf = new BrowserShelf(this.page, storage() ?? NO_STORAGE, new PictureDatabase(), (isFull) => this.said(isFull));

  /** Puts back what was left behind. */
  async start(host: Host): Promise<void> {
    this.host = host;
    const { drafts, spoken } = this.shelf.own();
    host.store.restoreWords(drafts, spoken);
    void this.takeName();
    const alive = await this.alivePages();
    const { left, done } = await this.shelf.later((page, at) => alive?.has(page) ?? Date.now() - at < SILENT_MS);
    host.store.restoreWords(left.drafts, left.spoken);
    done();
  }

  private said(isFull: boolean): void {
    if (isFull && !this.isFull) this.host?.store.notify({ tone: "error", text: FULL });
    this.isFull = isFull;
  }

  /**
   * Holds the page's name for as long as the page lives. After a reload the
   * page before it may hold it for a moment longer; a tab that was duplicated
   * finds it taken, and goes on under a name of its own.
   */
  private async takeName(): Promise<void> {
    const { locks } = navigator;
    if (!locks || (await hold(locks, LOCK + this.page))) return;
    this.page = newId();
    rememberName(this.page);
    this.shelf.rename(this.page);
    await hold(locks, LOCK + this.page);
  }

  private async alivePages(): Promise<Set<string> | undefined> {
    const locks = await navigator.locks?.query().catch(() => undefined);
    if (!locks) return undefined;
    const names = (locks.held ?? []).map(({ name = "" }) => name);
    return new Set(names.filter((name) => name.startsWith(LOCK)).map((name) => name.slice(LOCK.length)));
  }
}

/** Whether the lock is ours from now on; it is, unless somebody keeps it. */
function hold(locks: LockManager, name: string): Promise<boolean> {
  return new Promise((resolve) => {
    const forEver = () => {
      resolve(true);
      return new Promise(() => {});
    };
    locks.request(name, { signal: AbortSignal.timeout(LETTING_GO_MS) }, forEver).catch(() => resolve(false));
  });
}

function pageName(): string {
  try {
    const known = sessionStorage.getItem(PAGE) ?? newId();
    rememberName(known);
    return known;
  } catch {
    return newId();
  }
}

function rememberName(page: string): void {
  try {
    sessionStorage.setItem(PAGE, page);
  } catch {
    // Then a reload begins with another name, and takes over what this one left.
  }
}

function storage(): Storage | undefined {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
}
