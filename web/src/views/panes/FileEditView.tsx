// One file's change: what it is called, how much changed, and the difference.

import { useEffect, useMemo, useState } from "react";
import { useApp, useHost } from "../../app/context";
import { read } from "../../app/resources";
import { messageOf } from "../../app/sessions";
import type { FileEdit, FileEditSide } from "../../protocol/types";
import { nameOf, pathOf, pathWithin } from "../../protocol/uri";
import { isPiece } from "../../state/approval";
import { Icon } from "../ui/Icon";
import { Skeleton } from "../ui/Skeleton";
import { Stats } from "../ui/Stats";
import { DiffView } from "./DiffView";
import type { DiffComments, DiffStyle, HunkAction } from "./DiffView";

interface Props {
  edit: FileEdit;
  style?: DiffStyle;
  isOpen?: boolean;
}

/** A change with more lines than this is opened by whoever wants to see it. */
const LONG = 60;

export default function FileEditView({ edit, style = "unified", isOpen: opensAtOnce }: Props) {
  const lines = (edit.diff?.added ?? 0) + (edit.diff?.removed ?? 0);
  const [isOpen, setOpen] = useState(opensAtOnce ?? lines <= LONG);
  const directories = useApp((state) => state.session?.workingDirectories);
  const uri = edit.after?.uri ?? edit.before?.uri ?? "";
  const renamed = edit.before && edit.after && edit.before.uri !== edit.after.uri;
  const what = !edit.before ? "created" : !edit.after ? "deleted" : renamed ? "renamed" : undefined;
  return (
    <div className="file-edit" data-file={nameOf(uri)}>
      <button type="button" className="disclosure file-edit-head" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name="chevron" />
        <span className="file-path" title={pathOf(uri)}>
          {renamed && edit.before ? `${nameOf(edit.before.uri)} → ` : ""}
          {pathWithin(directories ?? [], uri)}
        </span>
        {what && <span className="badge">{what}</span>}
        <Stats diff={edit.diff} />
      </button>
      {isOpen && <EditBody edit={edit} style={style} />}
    </div>
  );
}

interface BodyProps {
  edit: FileEdit;
  style: DiffStyle;
  /** The host says that this is not text. */
  isBinary?: boolean;
  /** Where lines can be commented: what is written about the later text. */
  commentsOn?: (text: string) => DiffComments;
  hunkActions?: HunkAction[];
}

/** Together they fill the page's memory several times over; beyond this they are shown on demand. */
const LARGE = 4_000_000;

export function EditBody(props: BodyProps) {
  const { edit, isBinary = false } = props;
  const [isWanted, setWanted] = useState(false);
  const size = (edit.before?.content.sizeHint ?? 0) + (edit.after?.content.sizeHint ?? 0);
  if (isImage(edit.before) || isImage(edit.after)) return <Images edit={edit} />;
  if (isBinary) return <p className="pane-note">This is a binary file. It is not shown.</p>;
  if (size > LARGE && !isWanted) {
    return (
      <p className="pane-note">
        This file is large.{" "}
        <button type="button" className="link-button" onClick={() => setWanted(true)}>
          Show the change
        </button>
      </p>
    );
  }
  return <TextChange {...props} />;
}

function TextChange({ edit, style, commentsOn, hunkActions }: BodyProps) {
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
  if (!texts) return <Skeleton shape="lines" />;
  // Files with a zero byte are not text, whatever they are called.
  if (texts.before.includes("\0") || texts.after.includes("\0")) return <p className="pane-note">This is a binary file. It is not shown.</p>;
  const name = nameOf(edit.after?.uri ?? edit.before?.uri ?? "");
  return <DiffView {...texts} style={style} name={name} isPiece={isPiece(edit)} comments={comments} hunkActions={hunkActions} />;
}

const SHOWN_IMAGES = /^image\/(png|jpeg|gif|webp|avif|bmp|x-icon|vnd\.microsoft\.icon)$/;

function isImage(side: FileEditSide | undefined): boolean {
  return SHOWN_IMAGES.test(side?.content.contentType ?? "");
}

/** A picture before and after. */
function Images({ edit: { before, after } }: { edit: FileEdit }) {
  return (
    <div className="image-change">
      {before && <Picture side={before} label={after ? "Before" : "Deleted"} />}
      {after && <Picture side={after} label={before ? "After" : "Created"} />}
    </div>
  );
}

function Picture({ side: { content }, label }: { side: FileEditSide; label: string }) {
  const host = useHost();
  const [shown, setShown] = useState<{ src?: string; problem?: string }>();
  const { uri, nonce, contentType } = content;
  useEffect(() => {
    let isCurrent = true;
    read(host, uri, "base64").then(
      ({ base64 }) => isCurrent && setShown({ src: `data:${contentType};base64,${base64}` }),
      (error: unknown) => isCurrent && setShown({ problem: messageOf(error) }),
    );
    return () => {
      isCurrent = false;
    };
  }, [host, uri, nonce, contentType]);
  return (
    <figure>
      <figcaption>{label}</figcaption>
      {shown?.src && <img src={shown.src} alt={label} />}
      {shown?.problem && <p className="muted">{shown.problem}</p>}
    </figure>
  );
}
