// To-dos of an agent, wherever it keeps them: the host shows an agent's plan as
// a task list, and tools for to-dos are given them as `todos` or `plan`. What
// decides is the shape.

import type { ActiveTurn, ChatState, JsonObject, ToolCall, Turn } from "../protocol/types";

export type TodoStatus = "open" | "now" | "done";

export interface Todo {
  text: string;
  status: TodoStatus;
}

/** More than this is not a list that anybody follows. */
const MOST = 200;

const known = new WeakMap<ToolCall, Todo[] | undefined>();

/** The to-dos that a call states, if that is what it does. */
export function todosOf(call: ToolCall): Todo[] | undefined {
  if (known.has(call)) return known.get(call);
  const found = inInput(call) ?? inContent(call);
  known.set(call, found);
  return found;
}

const TASK = /^[-*] \[([ xX])\] (\*\*now:\*\* )?(.+)$/;

function inContent(call: ToolCall): Todo[] | undefined {
  if (!("content" in call) || call.content?.length !== 1) return undefined;
  const [item] = call.content;
  if (item?.type !== "text" || item.text.length > 100_000) return undefined;
  const lines = item.text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length === 0 || lines.length > MOST) return undefined;
  const todos = lines.map((line) => TASK.exec(line.trim()));
  if (todos.some((match) => match === null)) return undefined;
  return todos.map((match) => {
    const [, mark, now, text = ""] = match ?? [];
    return { text, status: mark !== " " ? "done" : now ? "now" : "open" };
  });
}

function inInput(call: ToolCall): Todo[] | undefined {
  const input = call.status === "streaming" ? undefined : call.toolInput;
  if (typeof input !== "string" || !input.startsWith("{") || input.length > 100_000) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(input);
  } catch {
    return undefined;
  }
  const { todos, plan } = value as JsonObject;
  const list = Array.isArray(todos) ? todos : Array.isArray(plan) ? plan : undefined;
  if (!list || list.length === 0 || list.length > MOST) return undefined;
  const read = list.map(todoIn);
  return read.every((todo) => todo !== undefined) ? read : undefined;
}

const STATUS = new Map<string, TodoStatus>(Object.entries({
  pending: "open",
  todo: "open",
  not_started: "open",
  "not-started": "open",
  in_progress: "now",
  "in-progress": "now",
  completed: "done",
  done: "done",
  cancelled: "done",
} as const));

function todoIn(item: unknown): Todo | undefined {
  if (typeof item !== "object" || item === null) return undefined;
  const { content, step, title, text, status } = item as JsonObject;
  const said = [content, step, title, text].find((words) => typeof words === "string" && words !== "");
  const known = typeof status === "string" ? STATUS.get(status) : undefined;
  return typeof said === "string" && known ? { text: said, status: known } : undefined;
}

/** The list as it stands: the last that was stated in the running turn, or in the last one while something of it is open. */
export function currentTodos(chat: ChatState | undefined): Todo[] | undefined {
  if (!chat) return undefined;
  const last = chat.activeTurn ?? chat.turns.at(-1);
  const here = last && statedIn(last);
  if (here) return chat.activeTurn || isUnfinished(here) ? here : undefined;
  // A new turn goes on with what the one before left open.
  const before = chat.activeTurn ? chat.turns.at(-1) : undefined;
  const left = before && statedIn(before);
  return left && isUnfinished(left) ? left : undefined;
}

function isUnfinished(todos: readonly Todo[]): boolean {
  return todos.some(({ status }) => status !== "done");
}

function statedIn({ responseParts }: Turn | ActiveTurn): Todo[] | undefined {
  for (const part of responseParts.toReversed()) {
    const todos = part.kind === "toolCall" ? todosOf(part.toolCall) : undefined;
    if (todos) return todos;
  }
  return undefined;
}
