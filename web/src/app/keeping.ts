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

const FULL = "The browser’s storage is full. What you type is not kept if you close this page.";

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
    const alive = await this.alivePages();
    if (!(await this.takeName())) {
      // A tab that was duplicated begins with the name of the other.
      this.page = newId();
      rememberName(this.page);
      this.shelf.rename(this.page);
      await this.takeName();
    }
    const { left, done } = await this.shelf.later((page, at) => alive?.has(page) ?? Date.now() - at < SILENT_MS);
    host.store.restoreWords(left.drafts, left.spoken);
    done();
  }

  private said(isFull: boolean): void {
    if (isFull && !this.isFull) this.host?.store.notify({ tone: "error", text: FULL });
    this.isFull = isFull;
  }

  /** Holds the name for as long as the page lives, unless another page has it. */
  private takeName(): Promise<boolean> {
    const { locks } = navigator;
    if (!locks) return Promise.resolve(true);
    return new Promise((resolve) => {
      const hold = (lock: Lock | null) => {
        resolve(lock !== null);
        return lock ? new Promise(() => {}) : undefined;
      };
      locks.request(LOCK + this.page, { ifAvailable: true }, hold).catch(() => resolve(true));
    });
  }

  private async alivePages(): Promise<Set<string> | undefined> {
    const locks = await navigator.locks?.query().catch(() => undefined);
    if (!locks) return undefined;
    const names = (locks.held ?? []).map(({ name = "" }) => name);
    return new Set(names.filter((name) => name.startsWith(LOCK)).map((name) => name.slice(LOCK.length)));
  }
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
