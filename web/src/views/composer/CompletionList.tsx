import { aboutSuggestion } from "../../state/attachments";
import { Icon } from "../ui/Icon";
import type { Completions } from "./useCompletions";

export function CompletionList({ completions: { items, active, isOpen, choose } }: { completions: Completions }) {
  if (!isOpen) return null;
  return (
    <ul className="completions" id="completions" role="listbox" aria-label="Suggestions">
      {items.map((item, index) => {
        const { name, hint, about, icon } = aboutSuggestion(item);
        return (
          <li
            key={`${item.insertText}:${index}`}
            id={`completion-${index}`}
            role="option"
            aria-selected={index === active}
            ref={index === active ? (element) => element?.scrollIntoView({ block: "nearest" }) : undefined}
            // Before the editor loses the focus.
            onPointerDown={(event) => {
              event.preventDefault();
              choose(index);
            }}
          >
            <Icon name={icon} />
            <span className="completion-name">{name}</span>
            {hint && <span className="completion-hint">{hint}</span>}
            {about && <span className="completion-about">{about}</span>}
            {!about && <small>{item.attachment?.displayKind ?? item.attachment?.type}</small>}
          </li>
        );
      })}
    </ul>
  );
}
