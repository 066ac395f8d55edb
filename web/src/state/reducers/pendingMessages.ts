// Messages that wait for the running turn: one that steers it, many behind it.

import type { ChatAction, ChatState } from "../../protocol/types";
import { upsert, withField } from "./lists";

type Action = Extract<
  ChatAction,
  { type: `chat/pendingMessage${string}` } | { type: "chat/queuedMessagesReordered" }
>;

export function reducePendingMessages(state: ChatState, action: Action): ChatState {
  switch (action.type) {
    case "chat/pendingMessageSet": {
      const entry = { id: action.id, message: action.message };
      if (action.kind === "steering") return { ...state, steeringMessage: entry };
      const same = (known: { id: string }) => known.id === entry.id;
      return { ...state, queuedMessages: upsert(state.queuedMessages, entry, same) };
    }
    case "chat/pendingMessageRemoved": {
      if (action.kind === "queued") return withoutQueued(state, action.id);
      return state.steeringMessage?.id === action.id ? withField(state, "steeringMessage", undefined) : state;
    }
    case "chat/queuedMessagesReordered": {
      if (!state.queuedMessages) return state;
      const left = new Map(state.queuedMessages.map((entry) => [entry.id, entry]));
      const ordered = [...new Set(action.order)].flatMap((id) => left.get(id) ?? []);
      for (const { id } of ordered) left.delete(id);
      // What the order does not name comes last, by id: all clients agree.
      const rest = [...left.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
      return { ...state, queuedMessages: [...ordered, ...rest] };
    }
  }
}

export function withoutQueued(state: ChatState, id: string): ChatState {
  const rest = state.queuedMessages?.filter((entry) => entry.id !== id);
  if (!rest || rest.length === state.queuedMessages?.length) return state;
  return withField(state, "queuedMessages", rest.length ? rest : undefined);
}
