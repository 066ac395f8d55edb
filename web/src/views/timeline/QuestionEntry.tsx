import type { UiMessage } from "../../state/appState";
import { QuestionForm } from "../decide/QuestionForm";
import { answerText } from "../decide/answers";
import { Icon } from "../ui/Icon";
import { Decider } from "./Decider";

export function QuestionEntry({ message, chat }: { message: UiMessage; chat: string }) {
  const { question } = message;
  if (!question) return null;
  const { request, response } = question;
  if (response === undefined) {
    return (
      <section className="question" aria-label="Question">
        <QuestionForm chat={chat} request={request} />
      </section>
    );
  }
  const outcome = { accept: "Answered", decline: "Declined", cancel: "Dismissed" }[response];
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
      <Decider id={request.id} />
    </section>
  );
}
