import { memo } from "react";
import { ansiRuns } from "../../lib/ansi";
import "../../styles/ansi.css";

/** What a program printed for a terminal, with its colours. */
export default memo(function AnsiText({ text }: { text: string }) {
  return ansiRuns(text).map(([style, piece], index) =>
    style ? (
      <span key={index} className={style.className || undefined} style={{ color: style.color, backgroundColor: style.background }}>
        {piece}
      </span>
    ) : (
      piece
    ),
  );
});
