// Words in the browser's own storage: drafts, and what was said until it has
// arrived. Text is written at once, with every change. Pictures are moved to a
// database as soon as that has them; until then they stand next to the text.
//
// Every page writes under its own name, so that two pages on one chat do not
// overwrite each other. What a page that is gone has left, another takes over.

import type { MessageAttachment, URI } from "../protocol/types";
import { newId } from "../lib/id";
import type { Shelf } from "../state/book";
import type { Draft } from "../state/drafts";
import type { Spoken } from "../state/spoken";
import type { Words } from "../state/words";
import { NO_WORDS } from "../state/words";
import type { Pictures } from "./pictures";

const PREFIX = "innkeeper.words.";
/** Larger data leaves the text's storage, which has 5 MB for everything. */
const SMALL = 2_000;
const KEPT_MS = 60 * 24 * 3_600_000;

type Kept = MessageAttachment & { kept?: string };
type KeptWords = Omit<Words, "attachments"> & { attachments: readonly Kept[] };
type Record = { at: number } & ({ chat: URI; draft: Draft } | { spoken: Spoken });

export interface Left {
  drafts: [URI, Draft][];
  spoken: Spoken[];
}

export class BrowserShelf implements Shelf {
  private readonly records = new Map<string, Record>();
  private readonly moved = new WeakMap<MessageAttachment, { key: string; isThere: boolean }>();
  private readonly ownKeys = new Set<string>();
  /** As it was when the page was opened: what is not taken up yet stays. */
  private readonly found: ReadonlyMap<string, Record>;
  private readonly untouchable = new Set<string>();

  constructor(
    private page: string,
    private readonly storage: Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">,
    private readonly pictures: Pictures,
    /** Told when something cannot be kept, and when it can be again. */
    private readonly onProblem: (isFull: boolean) => void,
  ) {
    this.found = this.readAll();
    for (const [name, record] of this.found) if (this.isOwn(name) && keysIn(record).length > 0) this.untouchable.add(name);
  }

  keepDraft(chat: URI, draft: Draft | undefined): void {
    const name = `draft.${chat}`;
    if (!draft || (draft.words.text === "" && draft.words.attachments.length === 0 && draft.shared === NO_WORDS)) this.drop(name);
    else this.keep(name, { at: Date.now(), chat, draft });
  }

  keepSpoken(spoken: Spoken): void {
    this.keep(`said.${spoken.id}`, { at: Date.now(), spoken });
  }

  dropSpoken(id: string): void {
    this.drop(`said.${id}`);
  }

  /** What this page wrote before it was loaded again; what has pictures comes later. */
  own(): Left {
    const records = [...this.found].filter(([name, record]) => this.isOwn(name) && keysIn(record).length === 0);
    return leftIn(records.map(([, record]) => record));
  }

  /**
   * What needs the database, and what pages have left that are not alive any
   * more. `done` is to be called when all that is written down again.
   */
  async later(isAlive: (page: string, at: number) => boolean): Promise<{ left: Left; done: () => void }> {
    const isWanted = ([name, record]: [string, Record]) =>
      this.isOwn(name) ? keysIn(record).length > 0 : !isAlive(pageOf(name), record.at);
    const wanted = [...this.found].filter(isWanted);
    const records = await Promise.all(wanted.map(([, record]) => this.complete(record)));
    const done = () => {
      this.untouchable.clear();
      for (const [name] of wanted) if (!this.isOwn(name)) this.storage.removeItem(name);
      const keys = [...this.readAll().values()].flatMap(keysIn);
      void this.pictures.keepOnly(new Set([...keys, ...this.ownKeys]));
    };
    return { left: leftIn(records), done };
  }

  /** Another page has this one's name: from now on this one writes under a new name. */
  rename(page: string): void {
    this.page = page;
    this.untouchable.clear();
    for (const [name, record] of this.records) this.write(name, record, false);
  }

  private keep(name: string, record: Record): void {
    this.records.set(name, record);
    for (const attachment of wordsIn(record).attachments) this.move(attachment);
    this.write(name, record, false);
  }

  private drop(name: string): void {
    const whole = `${PREFIX}${this.page}.${name}`;
    this.records.delete(name);
    if (!this.untouchable.has(whole)) this.storage.removeItem(whole);
  }

  private write(name: string, record: Record, isWithout: boolean): void {
    try {
      const text = JSON.stringify(record, (_, value: unknown) => (isEmbedded(value) ? this.slim(value, isWithout) : value));
      this.storage.setItem(`${PREFIX}${this.page}.${name}`, text);
      this.onProblem(false);
    } catch {
      // Full. The pictures are on their way to the database; the text is not.
      if (isWithout) this.onProblem(true);
      else this.write(name, record, true);
    }
  }

  /** An attachment without its data, where the database has that. */
  private slim(attachment: Embedded, isWithout: boolean): Kept {
    const moved = this.moved.get(attachment);
    if (!moved) return attachment;
    return { ...attachment, kept: moved.key, ...(moved.isThere || isWithout ? { data: "" } : {}) };
  }

  private move(attachment: MessageAttachment): void {
    if (!isEmbedded(attachment) || attachment.data.length <= SMALL || this.moved.has(attachment)) return;
    const moved = { key: newId(), isThere: false };
    this.moved.set(attachment, moved);
    this.ownKeys.add(moved.key);
    const writeAgain = () => {
      for (const [name, record] of this.records) {
        if (wordsIn(record).attachments.includes(attachment)) this.write(name, record, false);
      }
    };
    this.pictures.put(moved.key, attachment.data).then(
      () => {
        moved.isThere = true;
        writeAgain();
      },
      () => {
        // Then it stays next to the text, if it fits there.
        this.moved.delete(attachment);
        writeAgain();
      },
    );
  }

  private async complete(record: Record): Promise<Record> {
    const words = wordsIn(record) as KeptWords;
    const attachments = await Promise.all(words.attachments.map((one) => this.fetched(one)));
    const whole: Words = { text: words.text, attachments: attachments.filter((one) => one !== undefined) };
    return "draft" in record ? { ...record, draft: { ...record.draft, words: whole } } : { ...record, spoken: { ...record.spoken, words: whole } };
  }

  private async fetched({ kept, ...attachment }: Kept): Promise<MessageAttachment | undefined> {
    if (attachment.type !== "embeddedResource" || attachment.data || !kept) return attachment;
    const data = await this.pictures.get(kept).catch(() => undefined);
    return data === undefined ? undefined : { ...attachment, data };
  }

  private isOwn(name: string): boolean {
    return pageOf(name) === this.page;
  }

  private readAll(): Map<string, Record> {
    const all = Array.from({ length: this.storage.length }, (_, at) => this.storage.key(at) ?? "");
    const records = all.filter((name) => name.startsWith(PREFIX)).map((name): [string, Record | undefined] => [name, this.read(name)]);
    return new Map(records.filter((entry): entry is [string, Record] => entry[1] !== undefined && Date.now() - entry[1].at < KEPT_MS));
  }

  private read(name: string): Record | undefined {
    try {
      return JSON.parse(this.storage.getItem(name) ?? "") as Record;
    } catch {
      return undefined;
    }
  }
}

function pageOf(name: string): string {
  return name.slice(PREFIX.length).split(".", 1)[0] ?? "";
}

type Embedded = Extract<MessageAttachment, { type: "embeddedResource" }>;

function isEmbedded(value: unknown): value is Embedded {
  return typeof value === "object" && value !== null && "type" in value && value.type === "embeddedResource";
}

function wordsIn(record: Record): Words {
  return "draft" in record ? record.draft.words : record.spoken.words;
}

function keysIn(record: Record): string[] {
  const words = wordsIn(record) as KeptWords;
  return words.attachments.flatMap((one) => (one.kept && isEmbedded(one) && one.data === "" ? [one.kept] : []));
}

/** As a page takes them up: what was on its way has no number any more. */
function leftIn(records: readonly Record[]): Left {
  const left: Left = { drafts: [], spoken: [] };
  for (const record of records.toSorted((a, b) => a.at - b.at)) {
    if (keysIn(record).length > 0) continue;
    const words = bare(wordsIn(record));
    if ("draft" in record) left.drafts.push([record.chat, { ...record.draft, words, isOwn: true, isRestored: true }]);
    else left.spoken.push({ ...record.spoken, words, clientSeq: undefined });
  }
  return left;
}

function bare({ text, attachments }: Words): Words {
  return { text, attachments: attachments.map(({ kept: _, ...attachment }: Kept) => attachment) };
}
