// What a reader has opened, folded and scrolled to in a conversation: kept for
// as long as the page is there, so that coming back finds it as it was left.

import { createContext, useCallback, useContext, useState } from "react";

/** Where the reader was: this far below the top of an entry. */
export interface Place {
  key: string;
  offset: number;
}

export interface ChatMemory {
  /** Turns that are folded. */
  turns: ReadonlySet<string>;
  /** Groups that were opened or closed. */
  groups: ReadonlyMap<string, boolean>;
  /** Entries that were opened or closed. */
  entries: Map<string, boolean>;
  /** Nothing, if the reader was at the end. */
  place?: Place;
}

/** Conversations beyond this are forgotten, the one that was left longest ago first. */
const MOST_CHATS = 50;

const chats = new Map<string, ChatMemory>();

export function memoryOf(chat: string): ChatMemory {
  const known = chats.get(chat) ?? { turns: new Set(), groups: new Map(), entries: new Map() };
  chats.delete(chat);
  chats.set(chat, known);
  for (const oldest of chats.keys()) {
    if (chats.size <= MOST_CHATS) break;
    chats.delete(oldest);
  }
  return known;
}

export const MemoryContext = createContext<ChatMemory | undefined>(undefined);

/** Whether the reader opened or closed something; outlives the view of it. */
export function useChosen(id: string): [boolean | undefined, (isOpen: boolean) => void] {
  const memory = useContext(MemoryContext);
  const [chosen, setChosen] = useState(() => memory?.entries.get(id));
  const choose = useCallback(
    (isOpen: boolean) => {
      memory?.entries.set(id, isOpen);
      setChosen(isOpen);
    },
    [memory, id],
  );
  return [chosen, choose];
}
