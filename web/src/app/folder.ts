// Suggestions for `@` before there is a session to ask: what is in the directory
// that it is going to work in.

import type { URI } from "../protocol/types";
import { childOf } from "../protocol/uri";
import type { Suggestion } from "../state/attachments";
import type { Host } from "./host";
import { list } from "./resources";

const MOST = 50;

export async function suggestFiles(host: Host, directory: URI | undefined, text: string, offset: number): Promise<Suggestion[]> {
  const word = /\S*$/.exec(text.slice(0, offset))?.[0] ?? "";
  if (!directory || !word.startsWith("@")) return [];
  const path = word.slice(1);
  const above = path.slice(0, path.lastIndexOf("/") + 1);
  // Nothing outside of the directory.
  if (above.split("/").includes("..") || above.startsWith("/")) return [];
  const begun = path.slice(above.length).toLowerCase();
  const place = above.split("/").filter(Boolean).reduce(childOf, directory);
  const entries = await list(host, place).catch(() => []);
  const fitting = entries.filter(({ name }) => name.toLowerCase().includes(begun) && (begun.startsWith(".") || !name.startsWith(".")));
  fitting.sort((a, b) => Number(b.name.toLowerCase().startsWith(begun)) - Number(a.name.toLowerCase().startsWith(begun)) || a.name.localeCompare(b.name));
  return fitting.slice(0, MOST).map(({ name, type }) => ({
    insertText: `@${above}${name}${type === "directory" ? "/" : ""}`,
    attachment: { type: "resource", label: `${above}${name}`, uri: childOf(place, name), displayKind: type === "directory" ? "directory" : "document" },
  }));
}
