import { describe, expect, test } from "vitest";
import type { ChatState, ToolCall, Turn } from "../protocol/types";
import { currentTodos, todosOf } from "./todos";

const call = (more: object): ToolCall => ({ toolCallId: "c", toolName: "x", displayName: "x", status: "completed", success: true, ...more }) as ToolCall;
const text = (words: string) => call({ content: [{ type: "text", text: words }] });

describe("to-dos are known by their shape", () => {
  test("a task list, as the host writes an agent's plan", () => {
    expect(todosOf(text("- [x] Look\n- [ ] **now:** Change **it**\n- [ ] Test\n"))).toEqual([
      { text: "Look", status: "done" },
      { text: "Change **it**", status: "now" },
      { text: "Test", status: "open" },
    ]);
  });

  test.each(["todos", "plan"])("the input of a tool, as %s", (key) => {
    const toolInput = JSON.stringify({ [key]: [{ content: "a", status: "completed" }, { step: "b", status: "in_progress" }, { title: "c", status: "pending" }] });
    expect(todosOf(call({ toolInput }))?.map(({ status }) => status)).toEqual(["done", "now", "open"]);
  });

  test.each([
    ["text besides", text("Here is the plan:\n- [ ] a")],
    ["an empty list", call({ toolInput: '{"todos":[]}' })],
    ["a status that nobody knows", call({ toolInput: '{"todos":[{"content":"a","status":"odd"}]}' })],
    ["a status that is a word of the language", call({ toolInput: '{"todos":[{"content":"a","status":"constructor"}]}' })],
    ["no words", call({ toolInput: '{"todos":[{"status":"pending"}]}' })],
    ["not JSON", call({ toolInput: '{"todos":' })],
    ["too many", text("- [ ] a\n".repeat(500))],
  ])("%s: none", (_, made) => expect(todosOf(made)).toBeUndefined());
});

describe("what is in sight", () => {
  const turn = (id: string, made?: ToolCall): Turn => ({ id, message: { text: "", origin: { kind: "user" } }, responseParts: made ? [{ kind: "toolCall", toolCall: made }] : [], state: "complete" });
  const chat = (turns: Turn[], active?: Turn): ChatState => ({ turns, ...(active ? { activeTurn: active } : {}) }) as ChatState;
  const open = text("- [ ] a");
  const done = text("- [x] a");

  test("the list of the running turn, and what the one before left open", () => {
    expect(currentTodos(chat([], turn("a", done)))).toHaveLength(1);
    expect(currentTodos(chat([turn("a", open)], turn("b")))).toHaveLength(1);
    expect(currentTodos(chat([turn("a", done)], turn("b")))).toBeUndefined();
  });

  test("after a turn, only while something is left to do", () => {
    expect(currentTodos(chat([turn("a", open)]))).toHaveLength(1);
    expect(currentTodos(chat([turn("a", done)]))).toBeUndefined();
    expect(currentTodos(chat([turn("a", open), turn("b")]))).toBeUndefined();
  });
});
