import { firstLine } from "../../lib/text";
import { Icon } from "../ui/Icon";
import { Markdown } from "../ui/Markdown";
import { useChosen } from "./memory";

/** Reasoning: open while it is being written, a line afterwards. */
export function ThinkingEntry({ id, text, isStreaming }: { id: string; text: string; isStreaming: boolean }) {
  const [chosen, choose] = useChosen(id);
  const isOpen = chosen ?? isStreaming;
  return (
    <div className="thinking">
      <button type="button" className="disclosure" aria-expanded={isOpen} onClick={() => choose(!isOpen)}>
        <Icon name="chevron" />
        <span className="thinking-title">{isStreaming ? "Thinking" : "Thought"}</span>
        {!isOpen && <span className="thinking-preview">{firstLine(text)}</span>}
      </button>
      {isOpen && (
        <div className="thinking-body">
          <Markdown text={text} isStreaming={isStreaming} />
        </div>
      )}
    </div>
  );
}
