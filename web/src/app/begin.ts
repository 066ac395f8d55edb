// Beginning a session with its first message. The words stay in the editor of
// the page until the session has them in its own: whatever goes wrong in
// between, they are there.

import type { JsonObject, ModelSelection, URI } from "../protocol/types";
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
  const { store } = host;
  const { session, chat } = await create(host, beginning);
  const { words } = store.getState().drafts.get(BEGINNING) ?? NO_DRAFT;
  if (chat) {
    await host.open(chat);
    // From here on, what is said about the words is said at the session's editor.
    store.select(session, null);
    store.write(chat, () => words);
    store.clear(BEGINNING);
    const said = { text: words.text, attachments: goingAlong(words.attachments, words.text), model: beginning.model };
    if (needsUploads(said)) void sayLarge(host, chat, said, "queue");
    else say(host, chat, said, "send");
  }
  go({ view: "session", session, chat: null });
}

/** Creates the session and opens it, with an empty editor. */
export async function beginEmpty(host: Host, beginning: Beginning): Promise<void> {
  const { session, chat } = await create(host, beginning);
  if (chat && beginning.model) setDraft(host, chat, { text: "", model: beginning.model });
  go({ view: "session", session, chat: null });
}

async function create(host: Host, { provider, directory, config }: Beginning): Promise<{ session: URI; chat: URI | undefined }> {
  const session = await createSession(host, { provider, directory, config });
  host.store.flush();
  return { session, chat: stateOf(host.store.getState().channels, session, "session")?.defaultChat };
}
