// Files on their way into a message: pictures, and text.

import type { MessageAttachment } from "../../protocol/types";

/** The host takes no more at once. */
const IMAGE_LIMIT = 8 * 1024 * 1024;
const TEXT_LIMIT = 1024 * 1024;

const WHAT_FITS = "You can attach images (up to 8 MB) and text files (up to 1 MB).";

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
  const { type, size } = file;
  const isImage = type.startsWith("image/");
  const name = file.name || (isImage ? "image" : "file");
  if (size > (isImage ? IMAGE_LIMIT : TEXT_LIMIT)) return `“${name}” is too large to attach. ${WHAT_FITS}`;
  try {
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (!isImage && !isText(bytes)) return `“${name}” can’t be attached. ${WHAT_FITS}`;
    const contentType = isImage ? type : textType(type);
    return { type: "embeddedResource", label: name, contentType, data: base64(bytes), displayKind: isImage ? "image" : "document" };
  } catch {
    return `“${name}” can’t be read. If it is a folder, attach the files in it.`;
  }
}

/** What reads as UTF-8 and has no NUL in it, whatever the browser calls it. */
function isText(bytes: Uint8Array): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Agents are given text where the type says that it is text. */
function textType(type: string): string {
  return type.startsWith("text/") ? type : "text/plain";
}

function base64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 32_768) binary += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  return btoa(binary);
}
