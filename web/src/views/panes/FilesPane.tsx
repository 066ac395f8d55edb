// Files of the session, to read: a tree, and the one that somebody named, with
// its line in sight. Nothing is changed here.

import { useEffect, useMemo, useRef, useState } from "react";
import { Virtualizer } from "virtua";
import type { VirtualizerHandle } from "virtua";
import { go } from "../../app/address";
import { useApp, useHost } from "../../app/context";
import type { Host } from "../../app/host";
import { read } from "../../app/resources";
import type { Content } from "../../app/resources";
import { messageOf } from "../../app/sessions";
import { linesOf } from "../../lib/diff/lines";
import { nameOf, pathOf, pathWithin } from "../../protocol/uri";
import { candidatesFor } from "../../state/files";
import { CopyButton } from "../ui/CopyButton";
import { FileBrowser } from "./FileBrowser";
import { PaneHead } from "./PaneHead";
import type { PaneProps } from "./PaneHead";
import { useColours } from "./useColours";
import "../../styles/files.css";

const NONE: readonly string[] = [];

export default function FilesPane({ route }: PaneProps) {
  const directories = useApp((state) => state.session?.workingDirectories) ?? NONE;
  const { file, line } = route;
  const opened = useFile(file, directories);
  const uri = opened?.uri;
  return (
    <>
      <PaneHead title="Files" route={route}>
        {uri && <CopyButton text={pathOf(uri)} label="Copy path" />}
      </PaneHead>
      <div className="files">
        <nav className="file-browser" aria-label="Files of the session">
          {directories.map((directory) => (
            <FileBrowser key={directory} directory={directory} current={uri} onOpen={(chosen) => go({ ...route, file: pathOf(chosen), line: undefined })} />
          ))}
        </nav>
        <section className="file-view" aria-label={uri ? pathWithin(directories, uri) : "File"}>
          {uri && <h3 title={pathOf(uri)}>{pathWithin(directories, uri)}</h3>}
          {opened?.problem && <p className="pane-note">{opened.problem}</p>}
          {opened?.content && uri && <FileContent key={uri} uri={uri} content={opened.content} line={line} />}
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
  return opened?.path === path ? opened : undefined;
}

/** The first of some places where there is such a file. */
async function firstOf(host: Host, path: string, candidates: readonly string[]): Promise<Opened> {
  let problem = "There is no such file in the directories of this session.";
  for (const uri of candidates) {
    try {
      return { path, uri, content: await read(host, uri, isPicture(uri) ? "base64" : "utf-8") };
    } catch (error) {
      problem = `${pathOf(uri)} cannot be shown: ${messageOf(error)}`;
    }
  }
  return { path, problem };
}

const PICTURE = /\.(png|jpe?g|gif|webp|avif|bmp|ico)$/i;

function isPicture(uri: string): boolean {
  return PICTURE.test(uri);
}

function FileContent({ uri, content, line }: { uri: string; content: Content; line: number | undefined }) {
  if (isPicture(uri) && content.base64) {
    const type = content.contentType?.startsWith("image/") ? content.contentType : "image/png";
    return <img className="content-image" src={`data:${type};base64,${content.base64}`} alt={nameOf(uri)} />;
  }
  if (content.text.includes("\0")) return <p className="pane-note">This is a binary file. It is not shown.</p>;
  return <Lines text={content.text} name={nameOf(uri)} line={line} />;
}

const ROW_HEIGHT = 20;

function Lines({ text, name, line }: { text: string; name: string; line: number | undefined }) {
  const scroller = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const lines = useMemo(() => linesOf(text), [text]);
  const colours = useColours(text, name);
  useEffect(() => {
    if (line) list.current?.scrollToIndex(Math.min(line, lines.length) - 1, { align: "center" });
  }, [line, lines]);
  if (lines.length === 0) return <p className="pane-note">This file is empty.</p>;
  return (
    <div className="file-lines" ref={scroller} tabIndex={0} role="region" aria-label={`Text of ${name}`}>
      <Virtualizer ref={list} scrollRef={scroller} data={lines} itemSize={ROW_HEIGHT}>
        {(words, index) => (
          <div key={index} className={index + 1 === line ? "file-line is-target" : "file-line"} aria-current={index + 1 === line || undefined}>
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
  );
}
