// Something that waits for a decision, whole: what it is about, and what can
// be answered. The same at the editor and in the inbox.

import { useApp } from "../../app/context";
import type { Waiting } from "../../state/waiting";
import { withoutTwins } from "../../state/approval";
import { ToolContent } from "../timeline/ToolContent";
import { Approval } from "./Approval";
import { AuthNeeded } from "./AuthNeeded";
import { QuestionForm } from "./QuestionForm";
import { ResultApproval } from "./ResultApproval";

export function Decide({ item }: { item: Waiting }) {
  switch (item.kind) {
    case "question":
      return <QuestionForm chat={item.chat} request={item.request} />;
    case "approval":
      return <Approval chat={item.chat} turnId={item.turnId} call={item.call} />;
    case "result":
      return (
        <>
          {item.call.content && <ToolContent items={withoutTwins(item.call.content)} />}
          <ResultApproval chat={item.chat} turnId={item.turnId} call={item.call} />
        </>
      );
    case "auth":
      return <AuthNeeded chat={item.chat} turnId={item.turnId} call={item.call} />;
  }
}

/** Whether a call or a question waits in the session on screen. */
export function useWaits(id: string): boolean {
  return useApp((state) => state.waiting.some((item) => item.id === id));
}
