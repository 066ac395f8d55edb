// The comments that stand among the lines of one file: those that there are, and
// the one that is being written. It follows its line while the file changes, and
// waits above the others when its line is gone.

import { useCallback } from "react";
import { comment } from "../../app/annotations";
import { useApp, useHost } from "../../app/context";
import { useKept } from "../../app/kept";
import { linesOf } from "../../lib/diff/lines";
import type { Annotation, URI } from "../../protocol/types";
import { byLine, nearest } from "../../state/annotations";
import { CommentForm, Thread } from "./Comments";
import type { DiffComments } from "./DiffView";

/** A comment that is not saved yet. */
interface Writing {
  resource: URI;
  line: number;
  quote: string;
  text: string;
}

export function useCommentsOn(resource: URI | undefined, annotations: readonly Annotation[]): (text: string) => DiffComments {
  const host = useHost();
  const session = useApp((state) => state.currentSessionId);
  const [writing, write] = useKept<Writing>(`comment.${session}`);
  return useCallback(
    (text) => {
      const lines = linesOf(text);
      const places = byLine(annotations, resource ?? "", lines);
      const own = writing?.resource === resource ? writing : undefined;
      const place = own && nearest(lines, own.line, own.quote);
      const form = (line: number) =>
        own && (
          <CommentForm
            label={`Comment on line ${line + 1}`}
            text={own.text}
            onText={(words) => write({ ...own, text: words })}
            onCancel={() => write(undefined)}
            onSave={(words) => {
              if (session) comment(host, session, { ...own, line, text: words });
              write(undefined);
            }}
          />
        );
      return {
        above: own && place === undefined && form(own.line),
        under: (line) => (
          <>
            {session && places.get(line)?.map((known) => <Thread key={known.id} session={session} annotation={known} />)}
            {line === place && form(line)}
          </>
        ),
        // What was written is not lost when somebody picks another line.
        onComment: (line, quote) => resource && write({ resource, line, quote, text: writing?.text ?? "" }),
      };
    },
    [annotations, host, resource, session, write, writing],
  );
}
