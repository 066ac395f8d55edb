// Comments on lines of files: threads under their lines, and a list of all.

import type { KeyboardEvent } from "react";
import { answer, removeComment, resolve, sendComments } from "../../app/annotations";
import { useApp, useHost } from "../../app/context";
import { useKept } from "../../app/kept";
import { count, firstLine, plain } from "../../lib/text";
import type { Annotation, URI } from "../../protocol/types";
import { pathWithin } from "../../protocol/uri";
import { authorOf, isLost, openOnes, quoteOf } from "../../state/annotations";

interface FormProps {
  label: string;
  text: string;
  onText: (text: string) => void;
  onSave: (text: string) => void;
  onCancel: () => void;
}

/** Control and Enter saves, Escape leaves. */
export function CommentForm({ label, text, onText, onSave, onCancel }: FormProps) {
  const save = () => {
    if (text.trim()) onSave(text.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
    else if (event.key === "Escape") onCancel();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className="comment-form">
      <textarea aria-label={label} placeholder={label} rows={2} value={text} autoFocus onChange={({ target }) => onText(target.value)} onKeyDown={onKeyDown} />
      <div className="button-row">
        <button type="button" className="button primary" disabled={!text.trim()} onClick={save}>
          Save
        </button>
        <button type="button" className="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </div>
  );
}

export function Thread({ session, annotation }: { session: URI; annotation: Annotation }) {
  const host = useHost();
  const { id, entries, resolved } = annotation;
  const [answering, setAnswering] = useKept<string>(`answer.${id}`);
  return (
    <div className="comment" role="group" aria-label={resolved ? "Resolved comment" : "Comment"}>
      {isLost(annotation) && <p className="muted">These lines are no longer in the file:</p>}
      {isLost(annotation) && <pre>{quoteOf(annotation).join("\n")}</pre>}
      {entries.map((entry) => (
        <p key={entry.id}>
          {authorOf(entry) && <span className="badge">{authorOf(entry)}</span>} {plain(entry.text)}
        </p>
      ))}
      <div className="button-row">
        <button type="button" className="button" onClick={() => setAnswering(answering ?? "")}>
          Answer
        </button>
        <button type="button" className="button" onClick={() => resolve(host, session, id, !resolved)}>
          {resolved ? "Reopen" : "Resolve"}
        </button>
        <button type="button" className="button" onClick={() => removeComment(host, session, id)}>
          Delete comment
        </button>
      </div>
      {answering !== undefined && (
        <CommentForm
          label="Answer"
          text={answering}
          onText={setAnswering}
          onCancel={() => setAnswering(undefined)}
          onSave={(text) => {
            answer(host, session, id, text);
            setAnswering(undefined);
          }}
        />
      )}
    </div>
  );
}

interface ListProps {
  session: URI;
  chat: URI | undefined;
  annotations: readonly Annotation[];
  onSelect: (resource: URI) => void;
}

export function CommentList({ session, chat, annotations, onSelect }: ListProps) {
  const host = useHost();
  const directories = useApp((state) => state.session?.workingDirectories);
  const open = openOnes(annotations);
  if (annotations.length === 0) return null;
  return (
    <details className="comments">
      <summary>
        {count(annotations.length, "comment")}, {open.length.toLocaleString()} open
      </summary>
      <ul>
        {annotations.map((annotation) => (
          <li key={annotation.id}>
            <button type="button" className="disclosure" onClick={() => onSelect(annotation.resource)}>
              {pathWithin(directories ?? [], annotation.resource)}
              {annotation.range && `:${annotation.range.start.line + 1}`} {firstLine(plain(annotation.entries[0]?.text ?? ""), 60)}
            </button>
            {annotation.resolved && <span className="badge">resolved</span>}
            {isLost(annotation) && <span className="badge">lines lost</span>}
            {isLost(annotation) && <Thread session={session} annotation={annotation} />}
          </li>
        ))}
      </ul>
      {chat && open.length > 0 && (
        <button type="button" className="button" onClick={() => sendComments(host, session, chat, annotations)}>
          Send comments to the agent
        </button>
      )}
    </details>
  );
}
