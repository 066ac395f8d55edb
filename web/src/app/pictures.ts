// A small database of the browser for data that is too large for its text
// storage: what is attached to words that have not arrived yet.

export interface Pictures {
  put(key: string, data: string): Promise<void>;
  get(key: string): Promise<string | undefined>;
  /** Forgets all others. */
  keepOnly(keys: ReadonlySet<string>): Promise<void>;
}

const NAME = "innkeeper";
const STORE = "pictures";

export class PictureDatabase implements Pictures {
  private opened: Promise<IDBDatabase> | undefined;

  async put(key: string, data: string): Promise<void> {
    await this.run("readwrite", (store) => store.put(data, key));
  }

  async get(key: string): Promise<string | undefined> {
    return (await this.run("readonly", (store) => store.get(key))) as string | undefined;
  }

  async keepOnly(keys: ReadonlySet<string>): Promise<void> {
    try {
      const all = await this.run("readonly", (store) => store.getAllKeys());
      for (const key of all) if (!keys.has(String(key))) await this.run("readwrite", (store) => store.delete(key));
    } catch {
      // Without a database there is nothing to forget.
    }
  }

  private async run<T>(mode: IDBTransactionMode, ask: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
    const database = await this.open();
    return new Promise((resolve, reject) => {
      const transaction = database.transaction(STORE, mode);
      const request = ask(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error ?? new Error("the browser's storage is full"));
    });
  }

  private open(): Promise<IDBDatabase> {
    this.opened ??= new Promise((resolve, reject) => {
      const request = indexedDB.open(NAME, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(STORE);
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error ?? new Error("the browser keeps nothing"));
    });
    return this.opened;
  }
}
