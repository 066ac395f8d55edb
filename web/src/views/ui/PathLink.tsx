// A file that somebody named, as a link to where it can be read.

import type { ReactNode } from "react";
import { hrefOf } from "../../app/address";
import { useRoute } from "../../app/context";

export interface PlaceInFile {
  path: string;
  /** Counted from 1. */
  line?: number;
}

const LONGEST = 300;
/** A path with a line, as tools write it: `src/main.rs:12`, `src/main.rs:12:5`, `src/main.rs#L12`. */
const PLACE = /^(.+?)(?::(\d{1,7})(?:[:-]\d{1,7})?|#L(\d{1,7})(?:-L?\d{1,7})?)?$/;
const PATH = /^(?:file:\/\/)?(?:~?\/|\.{1,2}\/)?(?:[\w.@+-]+\/)*[\w.@+-]+$/;
/** Without a directory, a name has to end like one of a file. */
const NAME = /^[\w@+-][\w.@+-]*\.[a-zA-Z][a-zA-Z\d]{0,9}$/;
/** Words that end like files: versions, calls, domains. */
const NO_FILE = /^(?:e\.g|i\.e|[A-Z]\w*\.[a-z]\w*[A-Z(]|.*\.(?:com|org|net|io|dev))$/;

/** The file that a text names, if it looks like that and nothing else. */
export function pathIn(text: string, isLink = false): PlaceInFile | undefined {
  if (text.length > LONGEST) return undefined;
  const [, path = "", line, fragment] = PLACE.exec(text) ?? [];
  if (!PATH.test(path) || NO_FILE.test(path)) return undefined;
  // A slash and a word are a command.
  const hasDirectory = path.includes("/") && !/^\d+\/\d+$|^\/[\w-]+$/.test(path);
  const isNamed = NAME.test(path) && /\.[a-z]/i.test(path);
  if (!isLink && !isNamed && !(hasDirectory && /\.[\w-]+$|^[./~]/.test(path))) return undefined;
  const at = line ?? fragment;
  return { path, ...(at ? { line: Number(at) } : {}) };
}

export function PathLink({ place: { path, line }, children }: { place: PlaceInFile; children: ReactNode }) {
  const route = useRoute();
  if (route.view !== "session") return children;
  return (
    <a className="path-link" href={hrefOf({ ...route, pane: "files", turn: undefined, file: path, line })} title={`Open ${path}`}>
      {children}
    </a>
  );
}
