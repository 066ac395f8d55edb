// May the agent do this? With the host's own options, the input as it is or
// edited, and the changes that it would make.

import { lazy, Suspense, useState } from "react";
import { decide } from "../../app/chat";
import { useApp, useHost } from "../../app/context";
import { plain } from "../../lib/text";
import type { ConfirmationOption, PendingCall } from "../../protocol/types";
import { pathOf } from "../../protocol/uri";
import { choicesOf, directoryOf, editableInput, readInput, saysCommand, sessionOf } from "../../state/approval";
import { shortened } from "../../state/files";
import { detailsOf, titleOf } from "../../state/timeline";
import { editorsOf } from "../../state/waiting";
import { kindOf } from "../../state/toolKinds";
import { TOOL_ICONS } from "../timeline/toolIcons";
import { Icon } from "../ui/Icon";
import { Markdown } from "../ui/Markdown";
import { Skeleton } from "../ui/Skeleton";
import { DenialReason } from "./DenialReason";
import { EditedInput } from "./EditedInput";
import { focusNext } from "./focus";
import { FoldedInput, InputView, Where } from "./InputView";

const FileEditView = lazy(() => import("../panes/FileEditView"));

/** Below this, what the host says about the risk is said louder. */
const VERY_RISKY = 0.3;

interface Props {
  chat: string;
  turnId: string;
  call: PendingCall;
}

export function Approval({ chat, turnId, call }: Props) {
  const host = useHost();
  const [reasonKey, inputKey] = editorsOf(chat, call.toolCallId);
  const reason = useApp((state) => state.drafts.get(reasonKey)?.words.text ?? "");
  const draftInput = useApp((state) => state.drafts.get(inputKey));
  const edited = draftInput?.isOwn ? draftInput.words.text : undefined;
  const write = (key: string) => (text: string) => host.store.write(key, (known) => ({ ...known, text }));
  const [isExplaining, setExplaining] = useState(reason !== "");
  const { toolInput, editable, options, confirmationTitle, riskAssessment, edits } = call;
  const { options: choices, approve, deny } = choicesOf(options);
  const editor = editable && typeof toolInput === "string" ? editableInput(toolInput) : undefined;
  const isChanged = editor !== undefined && edited !== undefined && edited !== editor.text;
  const editedInput = isChanged ? editor.toInput(edited) : undefined;
  const isValid = !isChanged || editedInput !== undefined;
  const details = detailsOf(call);
  const hasReason = isExplaining && reason.trim() !== "";

  const choose = (option: ConfirmationOption) => {
    const approved = option.kind === "approve";
    if (approved && !isValid) return;
    decide(host, { chat, turnId, toolCallId: call.toolCallId }, { approved, option: option.id ? option : undefined, editedInput, suggestion: isExplaining ? reason : "" });
    focusNext();
  };
  const said = typeof toolInput === "string" ? readInput(toolInput, call._meta) : undefined;
  const directory = useApp((state) => (said?.command !== undefined && said.where === undefined ? directoryOf(state.channels, chat) : undefined));
  const directories = useApp((state) => sessionOf(state.channels, chat)?.workingDirectories);
  const name = shortened(titleOf(call), directories);
  const heading = confirmationTitle ? shortened(plain(confirmationTitle), directories) : `Allow ${name}?`;

  return (
    <div className="approval" data-call={call.toolCallId}>
      <p className="decide-title">
        <Icon name={TOOL_ICONS[kindOf(call)]} /> {heading}
      </p>
      {!heading.includes(name) && !saysCommand(name, said?.command) && <p className="call-name">{name}</p>}
      {riskAssessment?.status === "complete" && (
        <p className={riskAssessment.safety < VERY_RISKY ? "risk bad" : "risk"}>
          <Icon name="warning" /> {plain(riskAssessment.reason)}
        </p>
      )}
      {call.intention && <p className="call-name">{call.intention}</p>}
      {details && <Markdown text={details} />}
      {edits?.items.map((edit, index) => (
        <Suspense key={index} fallback={<Skeleton shape="lines" label="Loading the change…" />}>
          <FileEditView edit={edit} />
        </Suspense>
      ))}
      {editor && typeof toolInput === "string" ? (
        <EditedInput toolName={call.toolName} input={toolInput} text={edited ?? editor.text} isValid={isValid} onChange={write(inputKey)} />
      ) : edits?.items.length ? (
        <FoldedInput input={toolInput} meta={call._meta} />
      ) : (
        <InputView input={toolInput} meta={call._meta} />
      )}
      {directory && <Where path={pathOf(directory)} />}
      <div className="decide-actions">
        {isExplaining && deny && (
          <DenialReason text={reason} onChange={write(reasonKey)} onDeny={() => choose(deny)} />
        )}
        <div className="button-row">
          {choices.map((option) => (
            <button
              key={option.id + option.label}
              type="button"
              className={option === approve ? "button primary" : option.kind === "deny" ? "button danger" : "button"}
              data-decision={option === approve ? "approve" : option === deny ? "deny" : undefined}
              disabled={option.kind === "approve" && !isValid}
              onClick={() => choose(option)}
            >
              {option === deny && hasReason ? "Deny and send" : option.label}
              {option === approve && <kbd>Alt Y</kbd>}
              {option === deny && <kbd>Alt N</kbd>}
            </button>
          ))}
          {!isExplaining && deny && (
            <button type="button" className="button quiet" onClick={() => setExplaining(true)}>
              Deny with a reason…
            </button>
          )}
        </div>
      </div>
    </div>
  );
}
