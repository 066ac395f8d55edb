// Pictures on their way into a message.

import type { MessageAttachment } from "../../protocol/types";

/** Larger ones would not fit into a message of the protocol. */
const LIMIT = 8 * 1024 * 1024;

export function imagesIn(data: DataTransfer | null): File[] {
  return [...(data?.files ?? [])].filter(({ type }) => type.startsWith("image/"));
}

export async function attachFiles(files: File[]): Promise<MessageAttachment[]> {
  const usable = files.filter(({ type, size }) => type.startsWith("image/") && size <= LIMIT);
  return Promise.all(
    usable.map(async (file): Promise<MessageAttachment> => ({
      type: "embeddedResource",
      label: file.name || "image",
      contentType: file.type,
      data: await base64(file),
      displayKind: "image",
    })),
  );
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^data:[^,]*,/, ""));
    reader.onerror = () => reject(reader.error ?? new Error("the file cannot be read"));
    reader.readAsDataURL(file);
  });
}
