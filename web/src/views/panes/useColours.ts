import { useEffect, useState } from "react";
import { highlight } from "../../lib/highlight";
import { languageOf, linesOfRuns } from "../../lib/highlight/lines";
import type { Run } from "../../lib/highlight/runs";

/** The colours of a text, line by line, once they are there. */
export function useColours(text: string, name: string): Run[][] | undefined {
  const [known, setKnown] = useState<{ text: string; lines: Run[][] }>();
  useEffect(() => {
    let isCurrent = true;
    void highlight(text, languageOf(name)).then((runs) => {
      if (isCurrent && runs) setKnown({ text, lines: linesOfRuns(runs) });
    });
    return () => {
      isCurrent = false;
    };
  }, [text, name]);
  return known?.text === text ? known.lines : undefined;
}
