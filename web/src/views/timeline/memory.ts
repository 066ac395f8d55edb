// What a reader has opened, folded and scrolled to in a conversation: kept for
// as long as the page is there, so that coming back finds it as it was left.

import { createContext, useCallback, useContext, useSyncExternalStore } from "react";

/** Where the reader was: this far below the top of an entry. */
export interface Place {
  key: string;
  offset: number;
}

export class ChatMemory {
  /** Turns that are folded. */
  turns: ReadonlySet<string> = new Set();
  /** Groups that were opened or closed. */
  groups: ReadonlyMap<string, boolean> = new Map();
  /** Nothing, if the reader was at the end. */
  place?: Place | undefined;
  /** Entries that were opened or closed. */
  private readonly entries = new Map<string, boolean>();
  private readonly listeners = new Set<() => void>();

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  chosen(id: string): boolean | undefined {
    return this.entries.get(id);
  }

  choose(id: string, isOpen: boolean): void {
    this.entries.set(id, isOpen);
    for (const listener of this.listeners) listener();
  }
}

/** Conversations beyond this are forgotten, the one that was left longest ago first. */
const MOST_CHATS = 50;

const chats = new Map<string, ChatMemory>();

export function memoryOf(chat: string): ChatMemory {
  const known = chats.get(chat) ?? new ChatMemory();
  chats.delete(chat);
  chats.set(chat, known);
  for (const oldest of chats.keys()) {
    if (chats.size <= MOST_CHATS) break;
    chats.delete(oldest);
  }
  return known;
}

/** Where nothing else is provided, what is chosen lives with the page. */
export const MemoryContext = createContext(new ChatMemory());

/** Whether the reader opened or closed something; outlives the view of it. */
export function useChosen(id: string): [boolean | undefined, (isOpen: boolean) => void] {
  const memory = useContext(MemoryContext);
  const chosen = useSyncExternalStore(memory.subscribe, () => memory.chosen(id));
  const choose = useCallback((isOpen: boolean) => memory.choose(id, isOpen), [memory, id]);
  return [chosen, choose];
}
