// Attachments that do not fit into a message go to the host before it, and the
// message refers to them. Until it is sent, everything stays in the editor: a
// page that is closed in between has lost nothing.

import { newId } from "../lib/id";
import { ErrorCode, RpcError } from "../protocol/rpc";
import type { MessageAttachment, URI } from "../protocol/types";
import { goingAlong } from "../state/attachments";
import { stateOf } from "../state/derive";
import { MAX_WEIGHT } from "../state/refusal";
import { sameWords, weightOf } from "../state/words";
import type { Words } from "../state/words";
import { say } from "./chat";
import type { Said } from "./chat";
import type { Host } from "./host";
import { messageOf } from "./sessions";

type Embedded = Extract<MessageAttachment, { type: "embeddedResource" }>;

/** Smaller ones stay in the message. */
const LARGE = 16 * 1024;

export function needsUploads(words: Words): boolean {
  return weightOf(words) > MAX_WEIGHT && words.attachments.some(isLarge);
}

/** Says a message once its large attachments are with the host. */
export async function sayLarge(host: Host, chat: URI, said: Said, manner: "steer" | "queue"): Promise<void> {
  const { store } = host;
  const editor = () => store.getState().drafts.get(chat)?.words;
  const attachments: MessageAttachment[] = [];
  try {
    for (const attachment of said.attachments ?? []) {
      attachments.push(isLarge(attachment) ? await upload(host, chat, attachment) : attachment);
    }
  } catch (error) {
    const words = editor();
    if (words) store.giveBack(chat, words, `Not sent: an attachment could not be uploaded (${messageOf(error)}).`);
    return;
  }
  const now = editor();
  // What was typed, attached or removed meanwhile is not sent unseen, and not lost.
  const isSame = now && sameWords({ ...now, attachments: goingAlong(now.attachments, now.text) }, { text: said.text, attachments });
  if (!isSame) {
    if (now) store.giveBack(chat, now, "Not sent: you changed the message while its attachments were uploaded.");
    return;
  }
  const isStreaming = !!stateOf(store.getState().channels, chat, "chat")?.activeTurn;
  say(host, chat, { ...said, attachments }, isStreaming ? manner : "send");
}

/** Writes an attachment to the host; from then on a reference stands in the editor. */
async function upload(host: Host, chat: URI, attachment: Embedded): Promise<MessageAttachment> {
  const { data, type: _, ...rest } = attachment;
  const uri = `innkeeper-content:/uploads/${newId()}/${attachment.label.replace(/[^\w.-]+/g, "_").slice(-64)}`;
  const params = { channel: chat, uri, data, encoding: "base64", contentType: attachment.contentType };
  try {
    await host.connection.persist("resourceWrite", params);
  } catch (error) {
    // Asked twice because the first answer was lost.
    const exists = error instanceof RpcError && error.code === ErrorCode.AlreadyExists;
    if (!exists) throw error;
  }
  const reference: MessageAttachment = { ...rest, type: "resource", uri, sizeHint: Math.floor((data.length * 3) / 4) };
  const isMeant = (one: MessageAttachment) => one.type === "embeddedResource" && one.label === attachment.label && one.data === data;
  host.store.write(chat, (known) => ({ ...known, attachments: known.attachments.map((one) => (isMeant(one) ? reference : one)) }));
  return reference;
}

function isLarge(attachment: MessageAttachment): attachment is Embedded {
  return attachment.type === "embeddedResource" && attachment.data.length > LARGE;
}
