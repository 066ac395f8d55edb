// What can be taken back, and what a take-back has kept.

import { Status } from "../protocol/types";
import type { ChatState, Message } from "../protocol/types";
import type { AppState } from "./appState";
import { knows } from "./search";

export const TAKE_BACK = "innkeeper/takeBack";
export const UNDO_TAKE_BACK = "innkeeper/undoTakeBack";

/** The message of a turn that can be taken back in the chat on screen; nothing, if it cannot. */
export function takenBackWith({ root, chat, streaming }: Pick<AppState, "root" | "chat" | "streaming">, turnId: string | undefined): Message | undefined {
  if (!chat || streaming || turnId === undefined || !knows(root, TAKE_BACK)) return undefined;
  if (chat.interactivity === "read-only" || chat.interactivity === "hidden") return undefined;
  return chat.turns.find(({ id }) => id === turnId)?.message;
}

/** Whether a chat was kept when another was taken back, and can still be returned to. */
export function isKept({ _meta, status }: ChatState): boolean {
  const takenBack = (_meta?.["innkeeper"] as { takenBack?: unknown } | undefined)?.takenBack;
  return typeof takenBack === "object" && takenBack !== null && (status & Status.IsArchived) !== 0;
}
