// How much of a terminal this client keeps. The protocol lets hosts and
// clients forget the beginning, each on its own: a program that prints without
// an end must not fill the page's memory.

import type { TerminalContentPart } from "../protocol/types";
import type { ChannelState } from "./reducers";

const KEPT = 1_000_000;
/** Cutting copies what is kept, so it is done rarely. */
const MOST = 2 * KEPT;

export function bounded(channel: ChannelState): ChannelState {
  if (channel.kind !== "terminal") return channel;
  const { content } = channel.state;
  const length = content.reduce((sum, part) => sum + textOf(part).length, 0);
  if (length <= MOST) return channel;
  return { kind: "terminal", state: { ...channel.state, content: lastOf(content, KEPT) } };
}

export function textOf(part: TerminalContentPart): string {
  return part.type === "command" ? part.output : part.value;
}

function lastOf(content: TerminalContentPart[], room: number): TerminalContentPart[] {
  const kept: TerminalContentPart[] = [];
  let left = room;
  for (const part of content.toReversed()) {
    if (left <= 0) break;
    const text = textOf(part);
    kept.push(text.length <= left ? part : withText(part, fromLine(text.slice(-left))));
    left -= text.length;
  }
  return kept.toReversed();
}

/** Not from the middle of a line, where a colour may have begun. */
function fromLine(text: string): string {
  const end = text.indexOf("\n");
  return end < 0 ? text : text.slice(end + 1);
}

function withText(part: TerminalContentPart, text: string): TerminalContentPart {
  return part.type === "command" ? { ...part, output: text } : { ...part, value: text };
}
