// Turns are checkpoints: a chat goes back to before one of them, and returns.

import { ErrorCode, RpcError } from "../protocol/rpc";
import type { Message, URI } from "../protocol/types";
import { newChatUri } from "../protocol/uri";
import { TAKE_BACK, UNDO_TAKE_BACK } from "../state/checkpoints";
import { wordsOf } from "../state/words";
import { go } from "./address";
import { say } from "./chat";
import type { Host } from "./host";
import { messageOf } from "./sessions";

export interface TakeBack {
  session: URI;
  chat: URI;
  turnId: string;
  /** Whether the files become what they were before the turn, too. */
  files: boolean;
}

/** Takes back a turn and all that follow it. The host keeps the whole conversation next to it. */
async function cut(host: Host, { session, chat, turnId, files }: TakeBack): Promise<boolean> {
  const fork = newChatUri();
  try {
    await host.connection.persist(TAKE_BACK, { channel: chat, turnId, fork, files });
  } catch (error) {
    // Asked twice because the first answer was lost.
    const isDone = error instanceof RpcError && error.code === ErrorCode.SessionAlreadyExists;
    if (!isDone) {
      host.store.notify({ tone: "error", text: `Nothing was taken back: ${messageOf(error)}` });
      return false;
    }
  }
  const notice = host.store.notify({
    tone: "info",
    text: files ? "The conversation and the files were taken back." : "The conversation was taken back. Files are as they were.",
    action: {
      label: "Undo",
      run: () => {
        host.store.dismiss(notice);
        void undo(host, session, fork);
      },
    },
  });
  return true;
}

/** Takes back a turn; what was said in it goes to the editor. */
export async function takeBack(host: Host, place: TakeBack, said: Message): Promise<void> {
  if (await cut(host, place)) host.store.giveBack(place.chat, wordsOf(said));
}

/** Says something else in place of a turn. Returns whether it was said. */
export async function sayInstead(host: Host, place: TakeBack, said: Message, text: string): Promise<boolean> {
  if (!(await cut(host, place))) return false;
  const { _meta: _, ...message } = said;
  say(host, place.chat, { ...message, text }, "send");
  return true;
}

/** Returns to what a take-back has kept. */
export async function undo(host: Host, session: URI, kept: URI): Promise<void> {
  try {
    await host.connection.persist(UNDO_TAKE_BACK, { channel: kept });
    go({ view: "session", session, chat: kept });
  } catch (error) {
    host.store.notify({ tone: "error", text: `That was not undone: ${messageOf(error)}` });
  }
}
