// Pictures on their way into a message.

import type { MessageAttachment } from "../../protocol/types";

/** Larger ones would not fit into a message of the protocol. */
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
  const { type, size } = file;
  const name = file.name || "image";
  if (!type.startsWith("image/")) return `“${name}” is no image`;
  if (size > LIMIT) return `“${name}” is larger than ${LIMIT / 1024 / 1024} MB`;
  try {
    return { type: "embeddedResource", label: name, contentType: type, data: await base64(file), displayKind: "image" };
  } catch {
    return `“${name}” cannot be read`;
  }
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^data:[^,]*,/, ""));
    reader.onerror = () => reject(reader.error ?? new Error("the file cannot be read"));
    reader.readAsDataURL(file);
  });
}
