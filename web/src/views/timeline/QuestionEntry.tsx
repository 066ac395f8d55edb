import type { UiMessage } from "../../state/appState";
import { waitingId } from "../../state/waiting";
import { useWaits } from "../decide/Decide";
import { answerText } from "../decide/answers";
import { Icon } from "../ui/Icon";
import { Decider } from "./Decider";
import { DockLink } from "./DockLink";

export function QuestionEntry({ message, chat }: { message: UiMessage; chat: string }) {
  const { question } = message;
  const waits = useWaits(waitingId(chat, question?.request.id ?? ""));
  if (!question) return null;
  const { request, response } = question;
  if (response === undefined) {
    // A turn that is over asks nothing any more.
    return (
      <section className={waits ? "question" : "question answered"} aria-label="Question">
        <p>
          <Icon name={waits ? "question" : "close"} /> <strong>{waits ? "The agent asks" : "Not answered"}</strong> {request.message}
        </p>
        <DockLink chat={chat} of={request.id} label="Answer below" />
      </section>
    );
  }
  const outcome = { accept: "Answered", decline: "Declined", cancel: "Not answered" }[response];
  return (
    <section className="question answered" aria-label="Question">
      <p>
        <Icon name={response === "accept" ? "check" : "close"} /> <strong>{outcome}</strong> {request.message}
      </p>
      {response === "accept" && (
        <dl>
          {request.questions?.map((item) => (
            <div key={item.id}>
              <dt>{item.title ?? item.message}</dt>
              <dd>{answerText(item, request.answers?.[item.id])}</dd>
            </div>
          ))}
        </dl>
      )}
      <Decider message={message} chat={chat} />
    </section>
  );
}
