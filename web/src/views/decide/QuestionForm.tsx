// A form for an agent's questions. What is entered is shared as it is typed,
// so that another client can finish what this one began. Secrets are not: they
// stay in this form until it is submitted.

import { useState } from "react";
import { completeInput, draftAnswer } from "../../app/chat";
import { useApp, useHost } from "../../app/context";
import type { AnswerValue, InputQuestion, InputRequest } from "../../protocol/types";
import { answerEditor } from "../../state/waiting";
import { Icon } from "../ui/Icon";
import { Markdown } from "../ui/Markdown";
import { QuestionField } from "./QuestionField";
import { problemOf, submission, valueOf } from "./answers";
import { focusNext } from "./focus";

export function QuestionForm({ chat, request }: { chat: string; request: InputRequest }) {
  const host = useHost();
  const [wasTried, setTried] = useState(false);
  const questions = request.questions ?? [];
  const [own, setOwn] = useOwnAnswers(request.answers);
  const [secrets, setSecrets] = useState<OwnAnswers>(new Map());
  const drafts = useApp((state) => state.drafts);
  const values = questions.map((question) => {
    if (isSecret(question)) return secrets.get(question.id);
    if (own.has(question.id)) return own.get(question.id);
    // Typed here before, and not arrived: there was no connection.
    const kept = question.kind === "text" && !request.answers?.[question.id] && drafts.get(answerEditor(chat, request.id, question.id));
    return kept && kept.isOwn ? { kind: "text" as const, value: kept.words.text } : valueOf(question, request.answers?.[question.id]);
  });
  const problems = questions.map((question, index) => problemOf(question, values[index]));

  const change = (question: InputQuestion, value: AnswerValue | undefined) => {
    const { id } = question;
    if (isSecret(question)) {
      setSecrets(new Map(secrets).set(id, value));
      return;
    }
    setOwn(new Map(own).set(id, value));
    draftAnswer(host, chat, request.id, id, value && { state: "draft", value });
  };
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (problems.every((problem) => problem === undefined)) {
      completeInput(host, chat, request.id, "accept", submission(questions, values));
      focusNext();
    }
  };

  return (
    <form className="question-form" onSubmit={submit} data-request={request.id}>
      <div className="decide-title">
        <Icon name="question" /> {request.message ? <Markdown text={request.message} /> : "The agent asks"}
      </div>
      {request.url && (
        <p>
          <a href={/^https?:/.test(request.url) ? request.url : undefined} target="_blank" rel="noopener noreferrer">
            {request.url}
          </a>
        </p>
      )}
      {questions.map((question, index) => (
        <QuestionField
          key={question.id}
          question={question}
          value={values[index]}
          problem={wasTried ? problems[index] : undefined}
          onChange={(value) => change(question, value)}
        />
      ))}
      <div className="button-row decide-actions">
        <button type="submit" className="button primary">
          {questions.length ? "Submit" : "Continue"}
        </button>
        <button type="button" className="button" onClick={() => completeInput(host, chat, request.id, "decline")}>
          Decline
        </button>
        <button type="button" className="button quiet" onClick={() => completeInput(host, chat, request.id, "cancel")}>
          Dismiss
        </button>
      </div>
    </form>
  );
}

const isSecret = (question: InputQuestion) => question.kind === "text" && question.format === "password";

type OwnAnswers = ReadonlyMap<string, AnswerValue | undefined>;

/**
 * What was entered here shows at once. As soon as the shared answers change,
 * they hold it too, and whatever another client entered.
 */
function useOwnAnswers(shared: InputRequest["answers"]): [OwnAnswers, (own: OwnAnswers) => void] {
  const [own, setOwn] = useState<OwnAnswers>(new Map());
  const [seen, setSeen] = useState(shared);
  if (shared !== seen) {
    setSeen(shared);
    setOwn(new Map());
  }
  return [own, setOwn];
}
