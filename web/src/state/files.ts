// Which files of a session a path may mean, and how files are listed.

import type { URI } from "../protocol/types";
import { fileUri, pathOf } from "../protocol/uri";

/** The places where a path that somebody wrote may lead, the likeliest first. */
export function candidatesFor(written: string, directories: readonly URI[]): URI[] {
  const path = written.startsWith("file://") ? pathOf(written) : written;
  if (path.startsWith("/")) return [fileUri(resolved(path))];
  return directories.filter(Boolean).map((directory) => fileUri(resolved(`${pathOf(directory)}/${path}`)));
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

export function isWithin(directory: URI, uri: URI): boolean {
  return pathOf(uri).startsWith(`${pathOf(directory).replace(/\/+$/, "")}/`);
}

/** Directories before files, each by name; what belongs to git is not for reading. */
export function inOrder<T extends { name: string; type: string }>(entries: readonly T[]): T[] {
  const rank = ({ type }: T) => (type === "directory" ? 0 : 1);
  return entries.filter(({ name }) => name !== ".git").sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}
