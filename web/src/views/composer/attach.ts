// Files on their way into a message: pictures, text, and whatever else an agent
// may be able to read.

import type { MessageAttachment } from "../../protocol/types";

/** The host takes no more at once. */
const LIMIT = 8 * 1024 * 1024;

export function filesIn(data: DataTransfer | null): File[] {
  return [...(data?.files ?? [])];
}

export interface Attached {
  added: MessageAttachment[];
  /** Why some of the files were left out. */
  problems: string[];
}

export async function attachFiles(files: File[]): Promise<Attached> {
  const results = await Promise.all(files.map(attach));
  return {
    added: results.filter((result) => typeof result !== "string"),
    problems: results.filter((result) => typeof result === "string"),
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
    return `“${name}” can’t be read. If it is a folder, attach the files in it.`;
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
