// A command that signs in to an agent: it asks, so one types where it is shown.
// What it says to open in a browser can be opened from here: a phone copies
// nothing from a terminal.

import { useMemo } from "react";
import { useChannel } from "../../app/context";
import { plainText } from "../../lib/ansi";
import { linksIn } from "../../lib/output";
import { textOf } from "../../state/scrollback";
import TerminalView from "../panes/TerminalView";

/** How much of the end of what it printed is searched. */
const SEARCHED = 16_000;

export default function SignInTerminal({ resource, title }: { resource: string; title: string }) {
  const content = useChannel(resource, "terminal")?.content;
  const links = useMemo(() => {
    const text = content?.map(textOf).join("") ?? "";
    return linksIn(plainText(text.slice(-SEARCHED)));
  }, [content]);
  return (
    <>
      <TerminalView resource={resource} title={title} isInteractive />
      {links.map((link) => (
        <a key={link} className="terminal-link" href={link} target="_blank" rel="noopener noreferrer">
          {link}
        </a>
      ))}
    </>
  );
}
