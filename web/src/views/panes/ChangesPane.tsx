// What the session's work did to files: which, how much, line by line, and
// what can be done about it.

import { useState } from "react";
import { useApp, useChannel, useHost } from "../../app/context";
import { messageOf } from "../../app/sessions";
import { hostSetting, setHostSetting } from "../../app/settings";
import type { Hunk } from "../../lib/diff/rows";
import { count, firstLine, plain } from "../../lib/text";
import type { Annotation, ChangesetFile, ChangesetOperation, ChangesetState, OperationResult } from "../../protocol/types";
import { pathOf, pathWithin } from "../../protocol/uri";
import { annotationsOf } from "../../state/annotations";
import type { ChangesetChoice } from "../../state/changesets";
import { changesOfTurn, choicesOf, isLate, pageOf, takesMessage, targetOf } from "../../state/changesets";
import { Menu } from "../ui/Menu";
import { Skeleton } from "../ui/Skeleton";
import { useIsPhone } from "../useIsPhone";
import { Stats } from "../ui/Stats";
import { AskFirst, Operations, Outcomes } from "./ChangesetOperations";
import type { Outcome } from "./ChangesetOperations";
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
  const ofTurn = route.turn === undefined ? undefined : changesOfTurn(session, chat, route.turn);
  const message = useApp((state) => state.messages.find(({ turn, turnId }) => turn && turnId === route.turn)?.text);
  const asked = ofTurn && { ...ofTurn, label: message ? `Turn “${firstLine(message, 32)}”` : "One turn" };
  const known = choicesOf(session, chat);
  const choices = asked && !known.some(({ uri }) => uri === asked.uri) ? [asked, ...known] : known;
  const [chosen, setChosen] = useState<{ turn: string | undefined; uri: string }>();
  const wanted = chosen && chosen.turn === route.turn ? chosen.uri : asked?.uri;
  const branch = choices.find(({ kind }) => kind === "branch");
  const current = choices.find(({ uri }) => uri === wanted) ?? choices[0];
  return (
    <>
      <PaneHead title="Changes" route={route}>
        {choices.length > 1 && current && (
          <Menu
            label={`Which changes: ${current.label}`}
            className="picker"
            items={choices.map(({ label, uri }) => ({ label, isChecked: uri === current.uri, run: () => setChosen({ turn: route.turn, uri }) }))}
          >
            {current.label}
          </Menu>
        )}
      </PaneHead>
      {current ? (
        <ChangesetView key={current.uri} choice={current} onBranch={branch && branch !== current ? () => setChosen({ turn: route.turn, uri: branch.uri }) : undefined} />
      ) : (
        <p className="pane-note">This session tracks no changes to files.</p>
      )}
    </>
  );
}

interface ViewProps {
  choice: ChangesetChoice;
  /** Shows what the branch has that others do not, where there is such a thing. */
  onBranch: (() => void) | undefined;
}

function ChangesetView({ choice: { uri, canReview, kind }, onBranch }: ViewProps) {
  const host = useHost();
  const isPhone = useIsPhone();
  const wantsSplit = useApp((state) => hostSetting(state.root, "diffView") === "split");
  // Two columns cannot be read on a phone.
  const style: DiffStyle = wantsSplit && !isPhone ? "split" : "unified";
  const directories = useApp((state) => state.session?.workingDirectories);
  const changes = useChannel(uri, "changeset");
  const session = useApp((state) => state.currentSessionId);
  const chat = useApp((state) => state.chat?.resource);
  const annotations = useChannel(session && annotationsOf(session), "annotations")?.annotations ?? NONE;
  const [selected, setSelected] = useState<string>();
  const [asked, setAsked] = useState<Asked>();
  const [last, setLast] = useState<Outcome>();
  /** Messages that were written and not used yet, by operation. */
  const [written, setWritten] = useState<Record<string, string>>({});
  const git = useApp((state) => state.session?._meta?.["git"]) as { dirty?: boolean; ahead?: number } | undefined;
  const file = changes?.files.find(({ id }) => id === selected) ?? changes?.files[0];
  const resource = file?.edit.after?.uri;
  const commentsOn = useCommentsOn(resource, annotations);
  if (!changes) return <Skeleton shape="pane" />;

  const invoke = async ({ operation, file: of, hunk }: Asked, message?: string) => {
    setAsked(undefined);
    setLast(undefined);
    const target = of && targetOf(uriOf(of), hunk);
    try {
      const _meta = message === undefined ? undefined : { message };
      const params = { channel: uri, operationId: operation.id, target, _meta };
      const result = await host.connection.request<OperationResult>("invokeChangesetOperation", params);
      const page = pageOf(result);
      const done = plain(result.message ?? operation.label);
      setWritten(({ [operation.id]: _, ...others }) => others);
      if (page) setLast({ id: operation.id, label: operation.label, done, page });
      else if (result.message) host.store.notify({ tone: "info", text: done });
    } catch (error) {
      setLast({ id: operation.id, label: operation.label, problem: messageOf(error) });
    }
  };
  const byId = (id: string) => changes.operations?.find((operation) => operation.id === id);
  const ask = (operation: ChangesetOperation | undefined, of?: ChangesetFile, hunk?: Hunk) => {
    if (!operation) return;
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
      {changes.files.length === 0 && onBranch && (git?.ahead ?? 0) > 0 && (
        <p className="pane-note">
          {count(git?.ahead ?? 0, "commit")} not pushed yet.{" "}
          <button type="button" className="link-button" onClick={onBranch}>
            Show the branch
          </button>
        </p>
      )}
      <Operations changes={changes} scope="changeset" isCommitted={kind === "branch" && git?.dirty === false} onInvoke={({ id }) => ask(byId(id))} />
      <Outcomes changes={changes} last={last} />
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
          <header className="change-head">
            <strong className="file-path" title={pathOf(uriOf(file))}>
              {pathWithin(directories ?? [], uriOf(file))}
            </strong>
            <Stats diff={file.edit.diff} />
            <Operations changes={changes} scope="resource" onInvoke={({ id }) => ask(byId(id), file)} />
            <button
              type="button"
              className="button only-wide"
              aria-pressed={style === "split"}
              onClick={() => setHostSetting(host, "diffView", style === "split" ? "unified" : "split")}
            >
              Side by side
            </button>
          </header>
          <EditBody key={file.id} edit={file.edit} style={style} isBinary={file._meta?.["binary"] === true} commentsOn={resource ? commentsOn : undefined} hunkActions={file.edit.after ? hunkActions : undefined} />
        </section>
      )}
      {asked && <AskFirst operation={asked.operation} written={written[asked.operation.id]} onWrite={(message) => setWritten((known) => ({ ...known, [asked.operation.id]: message }))} onClose={() => setAsked(undefined)} onInvoke={(message) => void invoke(asked, message)} />}
    </div>
  );
}

function State({ changes: { status, error, files } }: { changes: ChangesetState }) {
  if (status === "error") return <p className="problem">{error?.message ?? "The changes cannot be computed."}</p>;
  if (status === "computing") return <p className="muted">Computing…</p>;
  if (files.length === 0) return <p className="pane-note">Nothing has changed. What the agent does to files appears here.</p>;
  return isLate(files) ? <p className="pane-note">The agent began before the host had recorded the state of the files. Some of its changes may be missing here.</p> : null;
}
