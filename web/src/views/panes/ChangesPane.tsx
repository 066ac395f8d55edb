// What the session's work did to files: which, how much, line by line, and
// what can be done about it.

import { useState } from "react";
import { useApp, useChannel, useHost } from "../../app/context";
import { messageOf } from "../../app/sessions";
import { hostSetting, setHostSetting } from "../../app/settings";
import type { Hunk } from "../../lib/diff/rows";
import { plain } from "../../lib/text";
import type { Annotation, ChangesetFile, ChangesetOperation, ChangesetState, OperationResult } from "../../protocol/types";
import { annotationsOf } from "../../state/annotations";
import { choicesOf, isLate, pageOf, takesMessage, targetOf } from "../../state/changesets";
import { Menu } from "../ui/Menu";
import { AskFirst, Operations } from "./ChangesetOperations";
import { CommentList } from "./Comments";
import { useCommentsOn } from "./commentsOn";
import type { DiffStyle } from "./DiffView";
import { EditBody } from "./FileEditView";
import { FileTree, uriOf } from "./FileTree";
import { PaneHead } from "./PaneHead";
import type { PaneProps } from "./PaneHead";

/** What is asked about before it is done. */
interface Asked {
  operation: ChangesetOperation;
  file?: ChangesetFile | undefined;
  hunk?: Hunk | undefined;
}

const NONE: readonly Annotation[] = [];

export default function ChangesPane({ route }: PaneProps) {
  const session = useApp((state) => state.session);
  const chat = useApp((state) => state.chat);
  const choices = choicesOf(session, chat);
  const [chosen, setChosen] = useState<string>();
  const current = choices.find(({ uri }) => uri === chosen) ?? choices[0];
  const host = useHost();
  const style: DiffStyle = useApp((state) => (hostSetting(state.root, "diffView") === "split" ? "split" : "unified"));
  const setStyle = (next: DiffStyle) => setHostSetting(host, "diffView", next);
  return (
    <>
      <PaneHead title="Changes" route={route}>
        {choices.length > 1 && current && (
          <Menu
            label={`Which changes: ${current.label}`}
            className="picker"
            items={choices.map(({ label, uri }) => ({ label, isChecked: uri === current.uri, run: () => setChosen(uri) }))}
          >
            {current.label}
          </Menu>
        )}
        <button type="button" className="picker" aria-pressed={style === "split"} onClick={() => setStyle(style === "split" ? "unified" : "split")}>
          Side by side
        </button>
      </PaneHead>
      {current ? (
        <ChangesetView key={current.uri} uri={current.uri} style={style} canReview={current.canReview} />
      ) : (
        <p className="pane-note">This session tracks no changes to files.</p>
      )}
    </>
  );
}

function ChangesetView({ uri, style, canReview }: { uri: string; style: DiffStyle; canReview: boolean }) {
  const host = useHost();
  const changes = useChannel(uri, "changeset");
  const session = useApp((state) => state.currentSessionId);
  const chat = useApp((state) => state.chat?.resource);
  const annotations = useChannel(session && annotationsOf(session), "annotations")?.annotations ?? NONE;
  const [selected, setSelected] = useState<string>();
  const [asked, setAsked] = useState<Asked>();
  const file = changes?.files.find(({ id }) => id === selected) ?? changes?.files[0];
  const resource = file?.edit.after?.uri;
  const commentsOn = useCommentsOn(resource, annotations);
  if (!changes) return <p className="pane-note">Loading…</p>;

  const invoke = async ({ operation, file: of, hunk }: Asked, written?: string) => {
    setAsked(undefined);
    const target = of && targetOf(uriOf(of), hunk);
    try {
      const _meta = written === undefined ? undefined : { message: written };
      const params = { channel: uri, operationId: operation.id, target, _meta };
      const result = await host.connection.request<OperationResult>("invokeChangesetOperation", params);
      const page = pageOf(result);
      const action = page ? { label: "Open", href: page } : undefined;
      if (result.message || action) host.store.notify({ tone: "info", text: plain(result.message ?? operation.label), action });
    } catch (error) {
      host.store.notify({ tone: "error", text: `${operation.label}: ${messageOf(error)}` });
    }
  };
  const ask = (operation: ChangesetOperation, of?: ChangesetFile, hunk?: Hunk) => {
    const next = { operation, file: of, hunk };
    return operation.confirmation || takesMessage(operation) ? setAsked(next) : void invoke(next);
  };
  const hunkActions = changes.operations
    ?.filter(({ scopes }) => scopes.includes("range"))
    .map((operation) => ({
      label: operation.label,
      isDisabled: operation.status === "running" || operation.status === "disabled",
      run: (hunk: Hunk) => ask(operation, file, hunk),
    }));

  return (
    <div className="changes">
      <State changes={changes} />
      <Operations changes={changes} scope="changeset" onInvoke={(operation) => ask(operation)} />
      <FileTree
        files={changes.files}
        selected={file?.id}
        onSelect={setSelected}
        onReview={
          canReview
            ? (id, reviewed) => host.store.dispatch(uri, { type: "changeset/filesReviewChanged", files: [id], reviewed })
            : undefined
        }
      />
      {session && (
        <CommentList
          session={session}
          chat={chat}
          annotations={annotations}
          onSelect={(about) => setSelected(changes.files.find(({ edit }) => edit.after?.uri === about)?.id)}
        />
      )}
      {file && (
        <section className="change" aria-label="Difference">
          <Operations changes={changes} scope="resource" onInvoke={(operation) => ask(operation, file)} />
          <EditBody key={file.id} edit={file.edit} style={style} commentsOn={resource ? commentsOn : undefined} hunkActions={file.edit.after ? hunkActions : undefined} />
        </section>
      )}
      {asked && <AskFirst operation={asked.operation} onClose={() => setAsked(undefined)} onInvoke={(message) => void invoke(asked, message)} />}
    </div>
  );
}

function State({ changes: { status, error, files } }: { changes: ChangesetState }) {
  if (status === "error") return <p className="problem">{error?.message ?? "The changes cannot be computed."}</p>;
  if (status === "computing") return <p className="muted">Computing…</p>;
  if (files.length === 0) return <p className="pane-note">Nothing has changed.</p>;
  return isLate(files) ? <p className="pane-note">The agent began before the host had recorded the state of the files. Some of its changes may be missing here.</p> : null;
}
