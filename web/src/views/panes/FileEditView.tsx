// One file's change: what it is called, how much changed, and the difference.

import { useEffect, useMemo, useState } from "react";
import { useApp, useHost } from "../../app/context";
import { read } from "../../app/resources";
import { messageOf } from "../../app/sessions";
import type { FileEdit } from "../../protocol/types";
import { nameOf, pathOf, pathWithin } from "../../protocol/uri";
import { Icon } from "../ui/Icon";
import { DiffView } from "./DiffView";
import type { DiffComments, DiffStyle, HunkAction } from "./DiffView";

interface Props {
  edit: FileEdit;
  style?: DiffStyle;
  isOpen?: boolean;
}

export default function FileEditView({ edit, style = "unified", isOpen: opensAtOnce = true }: Props) {
  const [isOpen, setOpen] = useState(opensAtOnce);
  const directories = useApp((state) => state.session?.workingDirectories);
  const uri = edit.after?.uri ?? edit.before?.uri ?? "";
  const renamed = edit.before && edit.after && edit.before.uri !== edit.after.uri;
  const what = !edit.before ? "created" : !edit.after ? "deleted" : renamed ? "renamed" : "edited";
  return (
    <div className="file-edit" data-file={nameOf(uri)}>
      <button type="button" className="disclosure file-edit-head" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name="chevron" />
        <span className="file-path" title={pathOf(uri)}>
          {renamed && edit.before ? `${nameOf(edit.before.uri)} → ` : ""}
          {pathWithin(directories ?? [], uri)}
        </span>
        <span className="badge">{what}</span>
        <Stats diff={edit.diff} />
      </button>
      {isOpen && <EditBody edit={edit} style={style} />}
    </div>
  );
}

export function Stats({ diff }: { diff: FileEdit["diff"] }) {
  if (!diff) return null;
  return (
    <span className="stats">
      {diff.added !== undefined && <span className="added">+{diff.added}</span>}{" "}
      {diff.removed !== undefined && <span className="removed">−{diff.removed}</span>}
    </span>
  );
}

interface BodyProps {
  edit: FileEdit;
  style: DiffStyle;
  /** Where lines can be commented: what is written about the later text. */
  commentsOn?: (text: string) => DiffComments;
  hunkActions?: HunkAction[];
}

export function EditBody({ edit, style, commentsOn, hunkActions }: BodyProps) {
  const host = useHost();
  const [texts, setTexts] = useState<{ before: string; after: string }>();
  const [problem, setProblem] = useState<string>();
  const before = edit.before?.content.uri;
  const after = edit.after?.content.uri;
  // A file that is there changes under its name; then this does, too.
  const nonces = `${edit.before?.content.nonce} ${edit.after?.content.nonce}`;
  useEffect(() => {
    let isCurrent = true;
    const side = (uri: string | undefined) => (uri ? read(host, uri).then(({ text }) => text) : Promise.resolve(""));
    Promise.all([side(before), side(after)]).then(
      ([old, now]) => {
        if (!isCurrent) return;
        setTexts({ before: old, after: now });
        setProblem(undefined);
      },
      (error: unknown) => isCurrent && setProblem(messageOf(error)),
    );
    return () => {
      isCurrent = false;
    };
  }, [host, before, after, nonces]);
  const comments = useMemo(() => (texts ? commentsOn?.(texts.after) : undefined), [texts, commentsOn]);
  if (problem) return <p className="muted">The change cannot be shown: {problem}</p>;
  if (!texts) return <p className="muted">Loading…</p>;
  return <DiffView before={texts.before} after={texts.after} style={style} comments={comments} hunkActions={hunkActions} />;
}
