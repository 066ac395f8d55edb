// Names of channels and files.

import type { URI } from "./types";
import { newId } from "../lib/id";

export function newSessionUri(): URI {
  return `ahp-session:/${newId()}`;
}

export function newChatUri(): URI {
  return `ahp-chat:/${newId()}`;
}

/** A file's address as a path that people read. */
export function pathOf(uri: URI): string {
  if (!uri.startsWith("file:")) return uri;
  try {
    return decodeURIComponent(new URL(uri).pathname);
  } catch {
    return uri.slice("file:".length);
  }
}

/** The same, from the directory that it is in: what people call it there. */
export function pathWithin(directories: readonly URI[], uri: URI): string {
  const path = pathOf(uri);
  for (const directory of directories) {
    const above = `${pathOf(directory).replace(/\/+$/, "")}/`;
    if (path.startsWith(above) && path !== above) return path.slice(above.length);
  }
  return path;
}

export function fileUri(path: string): URI {
  return `file://${path.split("/").map(encodeURIComponent).join("/")}`;
}

export function nameOf(uri: URI): string {
  const path = pathOf(uri).replace(/\/+$/, "");
  return path.slice(path.lastIndexOf("/") + 1) || "/";
}

export function parentOf(uri: URI): URI {
  const path = pathOf(uri).replace(/\/+$/, "");
  return fileUri(path.slice(0, path.lastIndexOf("/")) || "/");
}

export function childOf(uri: URI, name: string): URI {
  return fileUri(`${pathOf(uri).replace(/\/+$/, "")}/${name}`);
}
