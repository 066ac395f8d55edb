// Which changesets of a session can be looked at: templates with their
// variables filled in. And what is to be said about one.

import type { Hunk } from "../lib/diff/rows";
import type { Changeset, ChangesetFile, ChangesetOperation, ChangesetState, ChatState, OperationResult, OperationTarget, SessionState, URI } from "../protocol/types";

export interface ChangesetChoice {
  label: string;
  uri: URI;
  canReview: boolean;
  kind: string;
}

/** All that there are, with those of a turn: the last one unless another is wanted. */
export function choicesOf(session: SessionState | undefined, chat: ChatState | undefined, turnId?: string): ChangesetChoice[] {
  const catalogue = [...(session?.changesets ?? []), ...(chat?.changesets ?? [])];
  const lastTurn = chat?.activeTurn?.id ?? chat?.turns.at(-1)?.id;
  const choices = catalogue.flatMap((changeset) => choiceOf(changeset, turnId ?? lastTurn));
  return choices.filter(({ uri }, index) => choices.findIndex((other) => other.uri === uri) === index);
}

/** Where the changes of one turn are; nothing, if nobody keeps them. */
export function changesOfTurn(session: SessionState | undefined, chat: ChatState | undefined, turnId: string): ChangesetChoice | undefined {
  const isOfTurn = ({ uriTemplate }: Changeset) => /\{turnId\}/.test(uriTemplate) && uriTemplate.indexOf("{") === uriTemplate.lastIndexOf("{");
  const [changeset] = [...(chat?.changesets ?? []), ...(session?.changesets ?? [])].filter(isOfTurn);
  return changeset && choiceOf(changeset, turnId)[0];
}

/** What can be done about all changes, or about one file. Where nothing has changed, there is nothing to discard or to commit; and nothing is committed twice. */
export function operationsOn({ operations, files, status }: ChangesetState, scope: "changeset" | "resource", isCommitted = false): ChangesetOperation[] {
  const isEmpty = files.length === 0 && status === "ready";
  const all = operations?.filter(({ scopes }) => scopes.includes(scope)) ?? [];
  return all
    .filter(({ id }) => !(isEmpty && (id === "discard" || id === "commit")) && !(isCommitted && id === "commit"))
    .map((operation) => (operation.scopes.length > 1 ? { ...operation, label: `${operation.label} ${scope === "changeset" ? "all" : "this file"}` } : operation));
}

function choiceOf({ label, uriTemplate, changeKind: kind, capabilities }: Changeset, turnId: string | undefined): ChangesetChoice[] {
  const canReview = capabilities?.review !== undefined;
  const variables = [...uriTemplate.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name);
  if (variables.length === 0) return [{ label, uri: uriTemplate, canReview, kind }];
  // Of the templates with variables, the one for a turn has a natural value.
  if (variables.length > 1 || variables[0] !== "turnId" || !turnId) return [];
  return [{ label, uri: uriTemplate.replace("{turnId}", encodeURIComponent(turnId)), canReview, kind }];
}

/** Whether somebody may write a message for an operation; its description is the one that the host proposes. */
export function takesMessage({ id, description }: ChangesetOperation): boolean {
  return (id === "commit" || id === "create-pr") && description !== undefined;
}

/** What an operation is about: a file, or the lines of one that differ. Where nothing is left of them, those that were there. */
export function targetOf(resource: URI, hunk?: Hunk): OperationTarget {
  if (!hunk) return { kind: "resource", resource };
  const isGone = hunk.after.start === hunk.after.end;
  const { start, end } = isGone ? hunk.before : hunk.after;
  const range = { start: { line: start, character: 0 }, end: { line: end, character: 0 } };
  return { kind: "range", resource, range, ...(isGone ? { side: "before" } : {}) };
}

/** The web page that an operation leads to. */
export function pageOf({ followUp }: OperationResult): string | undefined {
  const uri = followUp?.content.uri;
  return uri && /^https?:\/\//.test(uri) ? uri : undefined;
}

/** Whether the agent may have changed files before the host had recorded how they were. */
export function isLate(files: readonly ChangesetFile[]): boolean {
  return files.some(({ _meta }) => (_meta?.innkeeper as { stateBefore?: unknown } | undefined)?.stateBefore === "late");
}
