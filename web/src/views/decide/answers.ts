// Answers to questions: from what is typed to the protocol's shapes, and back.

import type { AnswerValue, InputAnswer, InputQuestion } from "../../protocol/types";

export function valueOf(question: InputQuestion, answer: InputAnswer | undefined): AnswerValue | undefined {
  if (answer && answer.state !== "skipped") return answer.value;
  return answer ? undefined : defaultOf(question);
}

function defaultOf(question: InputQuestion): AnswerValue | undefined {
  switch (question.kind) {
    case "text":
      return question.defaultValue === undefined ? undefined : { kind: "text", value: question.defaultValue };
    case "number":
    case "integer":
      return question.defaultValue === undefined ? undefined : { kind: "number", value: question.defaultValue };
    case "boolean":
      return { kind: "boolean", value: question.defaultValue ?? false };
    default:
      return undefined;
  }
}

/** Why a value will not do, in a few words. */
export function problemOf(question: InputQuestion, value: AnswerValue | undefined): string | undefined {
  if (isEmpty(value)) return question.required ? "Please answer this" : undefined;
  if (question.kind === "text" && value?.kind === "text") {
    if (question.min !== undefined && value.value.length < question.min) return `At least ${question.min} characters`;
    if (question.max !== undefined && value.value.length > question.max) return `At most ${question.max} characters`;
  }
  if ((question.kind === "number" || question.kind === "integer") && value?.kind === "number") {
    if (Number.isNaN(value.value)) return "A number, please";
    if (question.kind === "integer" && !Number.isInteger(value.value)) return "A whole number, please";
    if (question.min !== undefined && value.value < question.min) return `At least ${question.min}`;
    if (question.max !== undefined && value.value > question.max) return `At most ${question.max}`;
  }
  if (question.kind === "multi-select" && value?.kind === "selected-many") {
    const chosen = value.value.length + (value.freeformValues?.length ?? 0);
    if (question.min !== undefined && chosen < question.min) return `Choose at least ${question.min}`;
    if (question.max !== undefined && chosen > question.max) return `Choose at most ${question.max}`;
  }
  return undefined;
}

function isEmpty(value: AnswerValue | undefined): boolean {
  if (!value) return true;
  if (value.kind === "text") return value.value === "";
  if (value.kind === "selected") return value.value === "" && !value.freeformValues?.length;
  return value.kind === "selected-many" && value.value.length === 0 && !value.freeformValues?.length;
}

/** All answers as they stand, submitted; what was left out is skipped. */
export function submission(questions: InputQuestion[], values: (AnswerValue | undefined)[]): Record<string, InputAnswer> {
  const entries = questions.map(({ id }, index): [string, InputAnswer] => {
    const value = values[index];
    return [id, !value || isEmpty(value) ? { state: "skipped" } : { state: "submitted", value }];
  });
  return Object.fromEntries(entries);
}

export function answerText(question: InputQuestion, answer: InputAnswer | undefined): string {
  if (!answer || answer.state === "skipped") return "–";
  const { value } = answer;
  const label = (id: string) =>
    "options" in question ? (question.options.find((option) => option.id === id)?.label ?? id) : id;
  switch (value.kind) {
    case "boolean":
      return value.value ? "Yes" : "No";
    case "selected":
      return [value.value && label(value.value), ...(value.freeformValues ?? [])].filter(Boolean).join(", ");
    case "selected-many":
      return [...value.value.map(label), ...(value.freeformValues ?? [])].join(", ");
    default:
      return String(value.value);
  }
}
