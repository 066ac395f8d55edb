// Files of the session, to read: a tree, and the one that somebody named, with
// its line in sight. Files are named, copied and removed here, and not edited.

import { useEffect, useMemo, useRef, useState } from "react";
import { Virtualizer } from "virtua";
import type { VirtualizerHandle } from "virtua";
import { go } from "../../app/address";
import { attachResource, attachSelection } from "../../app/attaching";
import { useApp, useHost } from "../../app/context";
import type { Host } from "../../app/host";
import { about, read } from "../../app/resources";
import type { About, Content } from "../../app/resources";
import { messageOf } from "../../app/sessions";
import { watchFile } from "../../app/watches";
import { linesOf } from "../../lib/diff/lines";
import { nameOf, pathOf, pathWithin } from "../../protocol/uri";
import { candidatesFor, isPicture } from "../../state/files";
import { CopyButton } from "../ui/CopyButton";
import { Icon } from "../ui/Icon";
import { Picture } from "../ui/Picture";
import { FileActions } from "./FileActions";
import { FileBrowser } from "./FileBrowser";
import { PaneHead } from "./PaneHead";
import type { PaneProps } from "./PaneHead";
import { useColours } from "./useColours";
import "../../styles/files.css";

const NONE: readonly string[] = [];

export default function FilesPane({ route }: PaneProps) {
  const directories = useApp((state) => state.session?.workingDirectories) ?? NONE;
  const host = useHost();
  const { file, line } = route;
  const opened = useFile(file, directories);
  const uri = opened?.uri;
  const [version, setVersion] = useState(0);
  const [first] = directories;
  const chat = useApp((state) => (state.chat?.interactivity === undefined || state.chat.interactivity === "full" ? state.currentChatId : null));
  const onAttach = chat ? (chosen: string, isDirectory: boolean) => attachResource(host, chat, chosen, isDirectory) : undefined;
  const onDone = (show: string | null | undefined) => {
    setVersion(version + 1);
    if (show !== undefined) go({ ...route, file: show === null ? undefined : pathOf(show), line: undefined });
  };
  return (
    <>
      <PaneHead title="Files" route={route}>
        {uri && <CopyButton text={pathOf(uri)} label="Copy path" />}
        {first && <FileActions file={uri} directory={first} onDone={onDone} />}
      </PaneHead>
      <div className="files">
        <nav className="file-browser" aria-label="Files of the session">
          {directories.map((directory) => (
            <FileBrowser key={directory} directory={directory} current={uri} version={version} onOpen={(chosen) => go({ ...route, file: pathOf(chosen), line: undefined })} onAttach={onAttach} />
          ))}
        </nav>
        <section className="file-view" aria-label={uri ? pathWithin(directories, uri) : "File"}>
          {uri && (
            <h3 title={pathOf(uri)}>
              {pathWithin(directories, uri)} <small className="muted">{opened.facts}</small>
            </h3>
          )}
          <p className="pane-note file-changed" role="status">
            {opened?.note}
          </p>
          {opened?.problem && <p className="pane-note">{opened.problem}</p>}
          {opened?.content && uri && <FileContent key={uri} uri={uri} content={opened.content} line={line} onAttach={chat ? (lines, from) => attachSelection(host, chat, pathWithin(directories, uri), lines, from) : undefined} />}
          {!file && <p className="pane-note">Choose a file, or follow a path in the conversation.</p>}
        </section>
      </div>
    </>
  );
}

interface Opened {
  path: string;
  uri?: string;
  content?: Content;
  problem?: string;
  /** How large it is, and how old. */
  facts?: string;
  /** What has become of it since it was opened. */
  note?: string;
}

function useFile(path: string | undefined, directories: readonly string[]): Opened | undefined {
  const host = useHost();
  const [opened, setOpened] = useState<Opened>();
  const where = directories.join("\n");
  useEffect(() => {
    if (!path) return;
    let isCurrent = true;
    void firstOf(host, path, candidatesFor(path, where.split("\n"))).then((found) => {
      if (isCurrent) setOpened(found);
    });
    return () => {
      isCurrent = false;
    };
  }, [host, path, where]);
  const uri = opened?.path === path ? opened?.uri : undefined;
  useEffect(() => {
    if (!uri) return;
    let isCurrent = true;
    const note = (content: Content | undefined, words: string) => {
      const when = new Date().toLocaleTimeString();
      if (isCurrent) setOpened((known) => (known?.uri === uri ? { ...known, content: content ?? known.content, note: `${words} at ${when}.` } : known));
    };
    const learn = () =>
      void about(host, uri).then(
        (known) => isCurrent && setOpened((shown) => (shown?.uri === uri ? { ...shown, facts: factsOf(known) } : shown)),
        // What is shown is none the worse.
        () => undefined,
      );
    learn();
    const leave = watchFile(host, uri, (change) => {
      if (change === "deleted") return note(undefined, "This file was deleted; shown is what was in it. Noticed");
      learn();
      void readFile(host, uri).then(
        (content) => note(content, "This file changed; shown is what is in it now. Read"),
        (error: unknown) => note(undefined, `This file changed and cannot be read (${messageOf(error)}). Noticed`),
      );
    });
    return () => {
      isCurrent = false;
      leave();
    };
  }, [host, uri]);
  return opened?.path === path ? opened : undefined;
}

function factsOf({ size, mtime }: About): string {
  const facts = [size !== undefined && `${size.toLocaleString()} bytes`, mtime && `changed ${new Date(mtime).toLocaleString()}`];
  return facts.filter(Boolean).join(", ");
}

function readFile(host: Host, uri: string): Promise<Content> {
  return read(host, uri, isPicture(uri) ? "base64" : "utf-8");
}

/** The first of some places where there is such a file. */
async function firstOf(host: Host, path: string, candidates: readonly string[]): Promise<Opened> {
  let problem = "The directories of this session do not contain this file.";
  for (const uri of candidates) {
    try {
      return { path, uri, content: await readFile(host, uri) };
    } catch (error) {
      problem = `${pathOf(uri)} cannot be shown: ${messageOf(error)}`;
    }
  }
  return { path, problem };
}

/** Adds some lines to the message; the first of them has this number. */
type OnAttach = ((lines: string[], from: number) => void) | undefined;

function FileContent({ uri, content, line, onAttach }: { uri: string; content: Content; line: number | undefined; onAttach: OnAttach }) {
  if (isPicture(uri) && content.base64) {
    const type = content.contentType?.startsWith("image/") ? content.contentType : "image/png";
    return <Picture src={`data:${type};base64,${content.base64}`} alt={nameOf(uri)} />;
  }
  if (content.text.includes("\0")) return <p className="pane-note">This is a binary file. It is not shown.</p>;
  return <Lines text={content.text} name={nameOf(uri)} line={line} onAttach={onAttach} />;
}

const ROW_HEIGHT = 20;

function Lines({ text, name, line, onAttach }: { text: string; name: string; line: number | undefined; onAttach: OnAttach }) {
  const scroller = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const lines = useMemo(() => linesOf(text), [text]);
  const colours = useColours(text, name);
  useEffect(() => {
    if (line) list.current?.scrollToIndex(Math.min(line, lines.length) - 1, { align: "center" });
  }, [line, lines]);
  const picked = useSelectedLines(scroller);
  if (lines.length === 0) return <p className="pane-note">This file is empty.</p>;
  return (
    <>
      <div className="file-lines" ref={scroller} tabIndex={0} role="region" aria-label={`Text of ${name}`}>
        <Virtualizer ref={list} scrollRef={scroller} data={lines} itemSize={ROW_HEIGHT}>
          {(words, index) => (
            <div key={index} data-line={index + 1} className={index + 1 === line ? "file-line is-target" : "file-line"} aria-current={index + 1 === line || undefined}>
              <span className="file-number">{index + 1}</span>
              <code>
                {colours?.[index]?.map(([className, piece], at) => (
                  <span key={at} className={className || undefined}>
                    {piece}
                  </span>
                )) ?? words}
              </code>
            </div>
          )}
        </Virtualizer>
      </div>
      {picked && onAttach && (
        <button type="button" className="button attach-lines" onPointerDown={(event) => event.preventDefault()} onClick={() => onAttach(lines.slice(picked.from - 1, picked.to), picked.from)}>
          <Icon name="attach" /> Attach {picked.from === picked.to ? `line ${picked.from}` : `lines ${picked.from}–${picked.to}`}
        </button>
      )}
    </>
  );
}

interface Picked {
  from: number;
  to: number;
}

/** The lines of which something is selected. */
function useSelectedLines(scroller: React.RefObject<HTMLElement | null>): Picked | undefined {
  const [picked, setPicked] = useState<Picked>();
  useEffect(() => {
    const look = () => {
      const selection = document.getSelection();
      const ends = selection && !selection.isCollapsed ? [selection.anchorNode, selection.focusNode].map((node) => lineOf(node, scroller.current)) : [];
      const [one, other] = ends;
      setPicked(one === undefined || other === undefined ? undefined : { from: Math.min(one, other), to: Math.max(one, other) });
    };
    document.addEventListener("selectionchange", look);
    return () => document.removeEventListener("selectionchange", look);
  }, [scroller]);
  return picked;
}

function lineOf(node: Node | null, within: HTMLElement | null): number | undefined {
  const element = node instanceof Element ? node : node?.parentElement;
  const line = within?.contains(element ?? null) ? element?.closest<HTMLElement>("[data-line]") : undefined;
  return line ? Number(line.dataset["line"]) : undefined;
}
