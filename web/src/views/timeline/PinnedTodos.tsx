// The agent's to-dos, in sight while it works on them.

import { useApp } from "../../app/context";
import { Status } from "../../protocol/types";
import { currentTodos } from "../../state/todos";
import { Icon } from "../ui/Icon";
import { useChosen } from "./memory";
import { TodoList } from "./TodoList";

export function PinnedTodos() {
  const todos = useApp((state) => currentTodos(state.chat));
  const isRunning = useApp((state) => state.chat?.activeTurn !== undefined);
  // What is to be decided takes the room then.
  const isBlocked = useApp((state) => ((state.chat?.status ?? 0) & Status.InputNeeded) === Status.InputNeeded);
  const [chosen, choose] = useChosen("todos");
  if (!todos) return null;
  const isOpen = chosen ?? (isRunning && !isBlocked);
  const done = todos.filter(({ status }) => status === "done").length;
  const current = todos.find(({ status }) => status === "now") ?? todos.find(({ status }) => status === "open");
  return (
    <section className="pinned-todos" aria-label="To-dos of the agent">
      <button type="button" className="disclosure" aria-expanded={isOpen} onClick={() => choose(!isOpen)}>
        <Icon name="chevron" />
        <strong>
          {done} of {todos.length} done
        </strong>
        {!isOpen && current && <span className="pinned-current">{current.text.replace(/[`*]+/g, "")}</span>}
      </button>
      {isOpen && <TodoList todos={todos} />}
    </section>
  );
}
