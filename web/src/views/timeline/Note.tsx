import { firstLine } from "../../lib/text";
import { Markdown } from "../ui/Markdown";
import { useChosen } from "./memory";

/** What a notice says beyond this is there for those who open it. */
const SHORT = 160;

/** A notice of the agent or the host: quiet, and a line at first. */
export function Note({ id, text, from }: { id: string; text: string; from?: string }) {
  const [isOpen = false, choose] = useChosen(id);
  if (!text) return null;
  const isLong = text.length > SHORT || text.trim().includes("\n");
  return (
    <div className="note">
      {from && <span className="note-from">{from}:</span>}
      {isLong && !isOpen ? <p>{firstLine(text.replace(/[`*#>]+/g, ""), SHORT)}</p> : <Markdown text={text} />}
      {isLong && (
        <button type="button" className="link-button" aria-expanded={isOpen} onClick={() => choose(!isOpen)}>
          {isOpen ? "Less" : "More"}
        </button>
      )}
    </div>
  );
}
