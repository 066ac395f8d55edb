// Beginning a session with its first message. The words stay in the editor of
// the page until the session has them in its own: whatever goes wrong in
// between, they are there.

import type { JsonObject, ModelSelection, SessionState, URI } from "../protocol/types";
import { goingAlong } from "../state/attachments";
import { stateOf } from "../state/derive";
import { NO_DRAFT } from "../state/drafts";
import { go } from "./address";
import { say, setDraft } from "./chat";
import type { Host } from "./host";
import { createSession } from "./sessions";
import { needsUploads, sayLarge } from "./uploads";

/** The editor of a session that is yet to begin. */
export const BEGINNING = "new-session";

export interface Beginning {
  provider?: string;
  directory?: URI;
  config?: JsonObject;
  model?: ModelSelection;
}

/** Creates the session, sends what stands in the editor, and opens the session. */
export async function begin(host: Host, beginning: Beginning): Promise<void> {
  const { session, chat } = await create(host, beginning);
  if (chat) {
    await sayFirst(host, chat, beginning.model, session);
    host.store.clear(BEGINNING);
  }
  go({ view: "session", session, chat: null });
}

/** In place of a session that could not be created, another one like it, with what stands in its editor. */
export async function createAgain(host: Host, failed: URI, { provider, workingDirectories, config, defaultChat, chats }: SessionState): Promise<void> {
  const { store } = host;
  const { session, chat } = await create(host, { provider, directory: workingDirectories?.[0], config: config?.values });
  const before = defaultChat ?? chats[0]?.resource;
  const words = before && store.getState().drafts.get(before)?.words;
  if (chat && words) {
    store.write(chat, () => words);
    store.clear(before);
  }
  go({ view: "session", session, chat: null });
  // If that fails, it stays in the list, where it can be deleted.
  await host.connection.persist("disposeSession", { channel: failed }).catch(() => undefined);
}

/** Creates the session and opens it, with an empty editor. */
export async function beginEmpty(host: Host, beginning: Beginning): Promise<void> {
  const { session, chat } = await create(host, beginning);
  if (chat && beginning.model) setDraft(host, chat, { text: "", model: beginning.model });
  go({ view: "session", session, chat: null });
}

export async function create(host: Host, { provider, directory, config }: Beginning, meta?: JsonObject): Promise<{ session: URI; chat: URI | undefined }> {
  const session = await createSession(host, { provider, directory, config, meta });
  host.store.flush();
  return { session, chat: stateOf(host.store.getState().channels, session, "session")?.defaultChat };
}

/** Says in a new chat what stands in the editor. Where the session is shown next, what is said about the words is said there. */
export async function sayFirst(host: Host, chat: URI, model: ModelSelection | undefined, shown?: URI): Promise<void> {
  const { store } = host;
  await host.open(chat);
  const { words } = store.getState().drafts.get(BEGINNING) ?? NO_DRAFT;
  if (shown) store.select(shown, null);
  store.write(chat, () => words);
  const said = { text: words.text, attachments: goingAlong(words.attachments, words.text), model };
  if (needsUploads(said)) void sayLarge(host, chat, said, "queue");
  else say(host, chat, said, "send");
}
