// Which files of a session a path may mean, and how files are listed.

import type { URI } from "../protocol/types";
import { childOf, fileUri, nameOf, parentOf, pathOf } from "../protocol/uri";

/** The places where a path that somebody wrote may lead, the likeliest first. */
export function candidatesFor(written: string, directories: readonly URI[]): URI[] {
  const path = written.startsWith("file://") ? pathOf(written) : written;
  if (path.startsWith("/")) return [fileUri(resolved(path))];
  return directories.filter(Boolean).map((directory) => fileUri(resolved(`${pathOf(directory)}/${path}`)));
}

/** A line in which paths below the session's directories are as short as a person would say them. */
export function shortened(line: string, directories: readonly URI[] | undefined): string {
  let short = line;
  for (const directory of directories ?? []) {
    const path = pathOf(directory).replace(/\/+$/, "");
    // A root, or next to it, is in other words, too.
    if (path.split("/").length < 3) continue;
    const parts = short.split(`${path}/`);
    // Only where a path begins, not in the middle of a longer one, and not if
    // nothing were left of it.
    const isWhole = (before: string, after: string) => /[^\s"'`(=:[]$/.test(before) || !/^[^\s"'`),;:\]/]/.test(after);
    short = parts.reduce((known, next) => known + (isWhole(known, next) ? `${path}/` : "") + next);
  }
  return short;
}

/** A path without steps that go nowhere or back. */
function resolved(path: string): string {
  const steps: string[] = [];
  for (const step of path.split("/")) {
    if (step === "..") steps.pop();
    else if (step !== "" && step !== ".") steps.push(step);
  }
  return `/${steps.join("/")}`;
}

/** Something new in a directory; nothing, if that is not a name. */
export function namedIn(directory: URI, name: string): URI | undefined {
  const plain = name.trim();
  const isName = plain !== "" && plain !== "." && plain !== ".." && plain !== ".git" && !/[/\0]/.test(plain);
  return isName ? childOf(directory, plain) : undefined;
}

/** Where a copy of a file goes: "a.txt" has the copies "a copy.txt", "a copy 2.txt" and so on. */
export function copyOf(uri: URI, number: number): URI {
  const name = nameOf(uri);
  const dot = name.lastIndexOf(".");
  const [stem, end] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ""];
  return childOf(parentOf(uri), `${stem} copy${number > 1 ? ` ${number}` : ""}${end}`);
}

const PICTURE = /\.(png|jpe?g|gif|webp|avif|bmp|ico)$/i;

export function isPicture(uri: URI): boolean {
  return PICTURE.test(uri);
}

export function isWithin(directory: URI, uri: URI): boolean {
  return pathOf(uri).startsWith(`${pathOf(directory).replace(/\/+$/, "")}/`);
}

/** Directories before files, each by name; what belongs to git is not for reading. */
export function inOrder<T extends { name: string; type: string }>(entries: readonly T[]): T[] {
  const rank = ({ type }: T) => (type === "directory" ? 0 : 1);
  return entries.filter(({ name }) => name !== ".git").sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}
