// What a person does with comments on files.

import { newId } from "../lib/id";
import { count } from "../lib/text";
import type { Annotation, URI } from "../protocol/types";
import { annotationsOf, openOnes } from "../state/annotations";
import { say } from "./chat";
import type { Host } from "./host";

/** Comments on a line of a file. The host finds the line where it is now, by what it says. */
export function comment({ store }: Host, session: URI, { resource, line, quote, text }: { resource: URI; line: number; quote: string; text: string }): void {
  const annotation: Annotation = {
    id: newId(),
    origin: { session },
    resource,
    range: { start: { line, character: 0 }, end: { line, character: quote.length } },
    resolved: false,
    entries: [{ id: newId(), text }],
    ...(quote.trim() && { _meta: { innkeeper: { anchor: "found", lines: [quote] } } }),
  };
  store.dispatch(annotationsOf(session), { type: "annotations/set", annotation });
}

export function answer({ store }: Host, session: URI, annotationId: string, text: string): void {
  store.dispatch(annotationsOf(session), { type: "annotations/entrySet", annotationId, entry: { id: newId(), text } });
}

export function resolve({ store }: Host, session: URI, annotationId: string, resolved: boolean): void {
  store.dispatch(annotationsOf(session), { type: "annotations/updated", annotationId, resolved });
}

export function removeComment({ store }: Host, session: URI, annotationId: string): void {
  store.dispatch(annotationsOf(session), { type: "annotations/removed", annotationId });
}

/** One message with all comments that are open. It waits behind a turn that runs. */
export function sendComments(host: Host, session: URI, chat: URI, annotations: readonly Annotation[]): void {
  const open = openOnes(annotations);
  const label = count(open.length, "comment");
  const attachment = { type: "annotations" as const, label, resource: annotationsOf(session), annotationIds: open.map(({ id }) => id) };
  const manner = host.store.getState().chat?.activeTurn ? "queue" : "send";
  say(host, chat, { text: "Please address these comments.", attachments: [attachment] }, manner);
}
