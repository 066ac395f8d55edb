// Files on their way into a message: pictures, text, and whatever else an agent
// may be able to read.

import type { MessageAttachment } from "../../protocol/types";

/** The host takes no more at once. */
const LIMIT = 8 * 1024 * 1024;

/** A folder may hold any number of files; nobody wants to send more than these. */
const MOST_FILES = 100;

/** Nor is more of it looked at: it may be the whole disk. */
const MOST_LOOKED_AT = 10 * MOST_FILES;

/** What is made from other files, or kept by programs for themselves. */
const LEFT_OUT = new Set([".git", "node_modules", ".DS_Store"]);

/** What was dropped or pasted, with the files in folders under their paths. To be called at once: the browser forgets it. */
export function filesIn(data: DataTransfer | null): { count: number; files: Promise<File[]> } {
  const items = [...(data?.items ?? [])].filter(({ kind }) => kind === "file");
  const entries = items.map((item) => item.webkitGetAsEntry());
  if (!entries.some((entry) => entry?.isDirectory)) {
    const files = [...(data?.files ?? [])];
    return { count: files.length, files: Promise.resolve(files) };
  }
  return { count: entries.length, files: walked(entries.filter((entry) => entry !== null)) };
}

async function walked(entries: readonly FileSystemEntry[]): Promise<File[]> {
  const files: File[] = [];
  const waiting = [...entries];
  let looked = 0;
  for (let entry = waiting.shift(); entry && files.length <= MOST_FILES && looked < MOST_LOOKED_AT; entry = waiting.shift()) {
    looked++;
    if (LEFT_OUT.has(entry.name)) continue;
    if (entry.isDirectory) waiting.push(...(await childrenOf(entry as FileSystemDirectoryEntry)).slice(0, MOST_LOOKED_AT - waiting.length));
    else files.push(await fileOf(entry as FileSystemFileEntry));
  }
  return files;
}

/** A browser gives some of them at a time, and nothing when that was all. */
async function childrenOf(directory: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = directory.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (some.length === 0 || all.length > MOST_LOOKED_AT) return all.sort((one, other) => one.name.localeCompare(other.name));
    all.push(...some);
  }
}

async function fileOf(entry: FileSystemFileEntry): Promise<File> {
  const path = entry.fullPath.replace(/^\//, "");
  const file = await new Promise<File | undefined>((resolve) => entry.file(resolve, () => resolve(undefined)));
  // One that cannot be read says so when it is.
  return file ? new File([file], path, { type: file.type }) : new File([], path);
}

/** The files of a folder that was picked, under their paths. */
export function filesOfFolder(picked: Iterable<File>): File[] {
  const wanted = [...picked].filter(({ webkitRelativePath }) => !webkitRelativePath.split("/").some((name) => LEFT_OUT.has(name)));
  return wanted.slice(0, MOST_FILES + 1).map((file) => new File([file], file.webkitRelativePath || file.name, { type: file.type }));
}

export interface Attached {
  added: MessageAttachment[];
  /** Why some of the files were left out. */
  problems: string[];
}

export async function attachFiles(files: File[]): Promise<Attached> {
  const results = await Promise.all(files.slice(0, MOST_FILES).map(attach));
  const tooMany = files.length > MOST_FILES ? [`Only the first ${MOST_FILES} files were attached.`] : [];
  return {
    added: results.filter((result) => typeof result !== "string"),
    problems: [...results.filter((result) => typeof result === "string"), ...tooMany],
  };
}

async function attach(file: File): Promise<MessageAttachment | string> {
  const isImage = file.type.startsWith("image/");
  const name = file.name || (isImage ? "image" : "file");
  if (file.size > LIMIT) return `“${name}” is too large to attach. A file can have up to 8 MB.`;
  try {
    const bytes = new Uint8Array(await file.arrayBuffer());
    const contentType = isImage ? file.type : typeOf(file.type, bytes);
    return { type: "embeddedResource", label: name, contentType, data: base64(bytes), displayKind: isImage ? "image" : "document" };
  } catch {
    return `“${name}” can’t be read.`;
  }
}

/** Agents are given text where the type says that it is text, whatever the browser calls it. */
function typeOf(type: string, bytes: Uint8Array): string {
  if (isText(bytes)) return type.startsWith("text/") ? type : "text/plain";
  return type && !type.startsWith("text/") ? type : "application/octet-stream";
}

/** What reads as UTF-8 and has no NUL in it. */
function isText(bytes: Uint8Array): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

function base64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 32_768) binary += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  return btoa(binary);
}
