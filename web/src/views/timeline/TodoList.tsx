import type { Todo } from "../../state/todos";
import { Markdown } from "../ui/Markdown";

const LABELS: Record<Todo["status"], string> = { open: "To do", now: "In progress", done: "Done" };

export function TodoList({ todos }: { todos: readonly Todo[] }) {
  return (
    <ul className="todos">
      {todos.map(({ text, status }, index) => (
        <li key={index} className={`todo todo-${status}`}>
          <span className="todo-mark" aria-hidden="true" />
          <span className="sr-only">{LABELS[status]}: </span>
          <Markdown text={text} />
        </li>
      ))}
    </ul>
  );
}
