// One prompt, tried several times: each attempt is a session in a working tree
// of its own, and one of them is kept.

import { newId } from "../lib/id";
import type { Message, ModelSelection, OperationResult, SessionSummary, URI } from "../protocol/types";
import { pathOf } from "../protocol/uri";
import { stateOf } from "../state/derive";
import { wordsOf } from "../state/words";
import { go } from "./address";
import { BEGINNING, create, sayFirst } from "./begin";
import type { Beginning } from "./begin";
import { stop } from "./chat";
import type { Host } from "./host";
import { archive, remove } from "./sessions";
import { remembered } from "./settings";

/** Who tries: what is left out is as at the editor. */
export interface Contender {
  provider?: string;
  model?: ModelSelection;
}

/** Creates one session for each, or none; sends them what stands in the editor, and opens the comparison. */
export async function beginAttempts(host: Host, beginning: Beginning, contenders: readonly Contender[]): Promise<void> {
  const id = newId();
  const started = contenders.map(async (contender, index) => {
    const one = planOf(beginning, contender);
    const meta = { innkeeper: { attempt: { id, number: index + 1, count: contenders.length } } };
    return { ...(await create(host, one, meta)), model: one.model };
  });
  const results = await Promise.allSettled(started);
  const created = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const failed = results.find((result) => result.status === "rejected");
  if (failed) {
    await Promise.allSettled(created.map(({ session }) => host.connection.persist("disposeSession", { channel: session })));
    throw failed.reason;
  }
  for (const { chat, model } of created) if (chat) await sayFirst(host, chat, model);
  host.store.clear(BEGINNING);
  go({ view: "attempts", id });
}

/** Settings of one agent mean nothing to another; where it begins does. */
function planOf(beginning: Beginning, { provider = beginning.provider, model }: Contender): Beginning {
  const isSame = provider === beginning.provider;
  const { branch } = beginning.config ?? {};
  const config = isSame ? beginning.config : branch === undefined ? {} : { branch };
  return { provider, directory: beginning.directory, config: { ...config, isolation: "worktree" }, model: model ?? (isSame ? beginning.model : undefined) };
}

/** Opens the page for a new session with what was said, to be tried several times in the same folder. */
export function tryAgain(host: Host, said: Message, directory: URI | undefined): void {
  host.store.giveBack(BEGINNING, wordsOf(said));
  if (directory) remembered("directory").write(pathOf(directory));
  go({ view: "start", attempts: 2 });
}

export type Fate = "archive" | "delete" | "leave";

/**
 * Brings the changes of one attempt into the folder, and only then parts with
 * the others. Says what happened, or throws why nothing did.
 */
export async function keepAttempt(host: Host, changes: URI, others: readonly SessionSummary[], fate: Fate): Promise<string | undefined> {
  const result = await host.connection.request<OperationResult>("invokeChangesetOperation", { channel: changes, operationId: "keep" });
  if (fate !== "leave") for (const { resource } of others) stopAll(host, resource);
  if (fate === "archive") for (const { resource } of others) archive(host, resource, true);
  if (fate === "delete") remove(host, ...others);
  return typeof result.message === "object" ? result.message.markdown : result.message;
}

/** Stops what runs in a session, as far as it is open here. */
function stopAll(host: Host, session: URI): void {
  const { channels } = host.store.getState();
  for (const { resource } of stateOf(channels, session, "session")?.chats ?? []) {
    const turn = stateOf(channels, resource, "chat")?.activeTurn;
    if (turn) stop(host, resource, turn.id);
  }
}

