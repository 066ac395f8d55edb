// May the agent do this? With the host's own options, the input as it is or
// edited, and the changes that it would make.

import { lazy, Suspense, useId, useState } from "react";
import { decide } from "../../app/chat";
import { useHost } from "../../app/context";
import type { ConfirmationOption, PendingCall } from "../../protocol/types";
import { plain } from "../../lib/text";
import { Icon } from "../ui/Icon";
import { focusNext } from "./focus";
import { InputText } from "../timeline/ToolInputView";

const FileEditView = lazy(() => import("../panes/FileEditView"));

const DEFAULT_OPTIONS: ConfirmationOption[] = [
  { id: "", label: "Approve", kind: "approve" },
  { id: "", label: "Deny", kind: "deny" },
];

interface Props {
  chat: string;
  turnId: string;
  call: PendingCall;
}

export function Approval({ chat, turnId, call }: Props) {
  const host = useHost();
  const id = useId();
  const [edited, setEdited] = useState<string>();
  const [suggestion, setSuggestion] = useState<string>();
  const { toolInput, editable, options, confirmationTitle, riskAssessment, edits } = call;
  const choices = options?.length ? options : DEFAULT_OPTIONS;
  const firstApproval = choices.find(({ kind }) => kind === "approve");
  const firstDenial = choices.find(({ kind }) => kind === "deny");

  const choose = (option: ConfirmationOption) => {
    decide(host, { chat, turnId, toolCallId: call.toolCallId }, {
      approved: option.kind === "approve",
      option: option.id ? option : undefined,
      editedInput: edited !== undefined && edited !== toolInput ? edited : undefined,
      suggestion,
    });
    focusNext();
  };

  return (
    <div className="approval" data-call={call.toolCallId}>
      <p className="decide-title">{confirmationTitle ? plain(confirmationTitle) : `Allow ${call.displayName || call.toolName}?`}</p>
      {riskAssessment?.status === "complete" && (
        <p className="risk">
          <Icon name="warning" /> {plain(riskAssessment.reason)}
        </p>
      )}
      {editable && typeof toolInput === "string" ? (
        <>
          <label className="sr-only" htmlFor={id}>
            Input of {call.toolName}, editable
          </label>
          <textarea
            id={id}
            className="tool-input"
            rows={Math.min(12, (edited ?? toolInput).split("\n").length + 1)}
            value={edited ?? toolInput}
            spellCheck={false}
            onChange={(event) => setEdited(event.target.value)}
          />
        </>
      ) : (
        toolInput !== undefined && toolInput !== "{}" && <InputText input={toolInput} />
      )}
      {edits?.items.map((edit, index) => (
        <Suspense key={index} fallback={<p className="muted">Loading the change…</p>}>
          <FileEditView edit={edit} />
        </Suspense>
      ))}
      {suggestion !== undefined && (
        <textarea
          autoFocus
          rows={2}
          aria-label="What should the agent do instead?"
          placeholder="What should the agent do instead?"
          value={suggestion}
          onChange={(event) => setSuggestion(event.target.value)}
        />
      )}
      <div className="button-row">
        {choices.map((option) => (
          <button
            key={option.id + option.label}
            type="button"
            className={option === firstApproval ? "button primary" : option.kind === "deny" ? "button danger" : "button"}
            data-decision={option === firstApproval ? "approve" : option === firstDenial ? "deny" : undefined}
            onClick={() => choose(option)}
          >
            {option.label}
            {option === firstApproval && <kbd>Alt Y</kbd>}
            {option === firstDenial && <kbd>Alt N</kbd>}
          </button>
        ))}
        {suggestion === undefined && (
          <button type="button" className="button quiet" onClick={() => setSuggestion("")}>
            Say why not…
          </button>
        )}
      </div>
    </div>
  );
}
