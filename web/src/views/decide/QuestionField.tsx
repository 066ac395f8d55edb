// One question, by kind.

import { useId, useState } from "react";
import type {
  AnswerValue,
  InputOption,
  InputQuestion,
  MultiSelectQuestion,
  NumberQuestion,
  SingleSelectQuestion,
  TextQuestion,
} from "../../protocol/types";

interface Props<Q = InputQuestion> {
  question: Q;
  value: AnswerValue | undefined;
  problem?: string;
  onChange: (value: AnswerValue | undefined) => void;
}

export function QuestionField(props: Props) {
  const { question, problem } = props;
  const id = useId();
  const isGroup = question.kind === "single-select" || question.kind === "multi-select";
  const label = (
    <>
      {question.title && <strong>{question.title}</strong>} {question.message}
      {question.required && (
        <span className="required" title="required">
          {" "}
          *
        </span>
      )}
    </>
  );
  const field = <Field {...props} id={id} />;
  return (
    <div className={problem ? "field has-problem" : "field"}>
      {isGroup ? (
        <fieldset aria-describedby={problem ? `${id}-problem` : undefined}>
          <legend>{label}</legend>
          {field}
        </fieldset>
      ) : (
        <>
          {question.kind !== "boolean" && <label htmlFor={id}>{label}</label>}
          {field}
          {question.kind === "boolean" && <label htmlFor={id}>{label}</label>}
        </>
      )}
      {problem && (
        <p className="problem" id={`${id}-problem`} role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

function Field({ question, value, onChange, id }: Props & { id: string }) {
  switch (question.kind) {
    case "text":
      return <TextField question={question} value={value} onChange={onChange} id={id} />;
    case "number":
    case "integer":
      return <NumberField question={question} value={value} onChange={onChange} id={id} />;
    case "boolean":
      return (
        <input
          id={id}
          type="checkbox"
          checked={value?.kind === "boolean" && value.value}
          onChange={(event) => onChange({ kind: "boolean", value: event.target.checked })}
        />
      );
    case "single-select":
      return <SingleSelect question={question} value={value} onChange={onChange} id={id} />;
    case "multi-select":
      return <MultiSelect question={question} value={value} onChange={onChange} id={id} />;
    default:
      return <p className="muted">This client does not know this kind of question.</p>;
  }
}

const TYPES: Record<string, string> = { email: "email", uri: "url", url: "url", date: "date", password: "password" };

function TextField({ question, value, onChange, id }: Props<TextQuestion> & { id: string }) {
  const typed = value?.kind === "text" ? value.value : "";
  const props = {
    id,
    value: typed,
    "aria-required": question.required,
    onChange: (event: { target: { value: string } }) => {
      onChange({ kind: "text", value: event.target.value });
    },
  };
  if (question.format && question.format !== "multiline") return <input type={TYPES[question.format] ?? "text"} {...props} />;
  return <textarea rows={question.format === "multiline" || typed.includes("\n") ? 4 : 1} {...props} />;
}

function NumberField({ question, value, onChange, id }: Props<NumberQuestion> & { id: string }) {
  // What is typed on the way to a number is not always one.
  const [typed, setTyped] = useState<string>();
  const known = value?.kind === "number" && !Number.isNaN(value.value) ? value.value : undefined;
  return (
    <input
      id={id}
      type="number"
      step={question.kind === "integer" ? 1 : "any"}
      min={question.min}
      max={question.max}
      value={typed !== undefined && Number(typed) === known ? typed : (known ?? "")}
      onChange={({ target }) => {
        setTyped(target.value);
        onChange(target.value === "" ? undefined : { kind: "number", value: Number(target.value) });
      }}
    />
  );
}

function Option({ option, name, type, isChecked, onChange }: { option: InputOption; name: string; type: "radio" | "checkbox"; isChecked: boolean; onChange: (isChecked: boolean) => void }) {
  return (
    <label className="option">
      <input type={type} name={name} checked={isChecked} onChange={(event) => onChange(event.target.checked)} />
      <span>
        {option.label}
        {option.recommended && <span className="badge">recommended</span>}
        {option.description && <small>{option.description}</small>}
      </span>
    </label>
  );
}

function SingleSelect({ question, value, onChange, id }: Props<SingleSelectQuestion> & { id: string }) {
  const chosen = value?.kind === "selected" ? value : { kind: "selected" as const, value: "" };
  return (
    <>
      {question.options.map((option) => (
        <Option
          key={option.id}
          option={option}
          name={id}
          type="radio"
          isChecked={chosen.value === option.id}
          onChange={() => onChange({ kind: "selected", value: option.id })}
        />
      ))}
      {question.allowFreeformInput && (
        <input
          type="text"
          className="freeform"
          aria-label="Something else"
          placeholder="Something else"
          value={chosen.freeformValues?.[0] ?? ""}
          onChange={({ target }) =>
            onChange(target.value ? { kind: "selected", value: "", freeformValues: [target.value] } : undefined)
          }
        />
      )}
    </>
  );
}

function MultiSelect({ question, value, onChange, id }: Props<MultiSelectQuestion> & { id: string }) {
  const chosen = value?.kind === "selected-many" ? value : { kind: "selected-many" as const, value: [] as string[] };
  const put = (next: string[], freeformValues = chosen.freeformValues) =>
    onChange({ kind: "selected-many", value: next, ...(freeformValues?.length ? { freeformValues } : {}) });
  return (
    <>
      {question.options.map((option) => (
        <Option
          key={option.id}
          option={option}
          name={id}
          type="checkbox"
          isChecked={chosen.value.includes(option.id)}
          onChange={(isChecked) =>
            put(isChecked ? [...chosen.value, option.id] : chosen.value.filter((known) => known !== option.id))
          }
        />
      ))}
      {question.allowFreeformInput && (
        <input
          type="text"
          className="freeform"
          aria-label="Something else"
          placeholder="Something else"
          value={chosen.freeformValues?.[0] ?? ""}
          onChange={({ target }) => put(chosen.value, target.value ? [target.value] : [])}
        />
      )}
    </>
  );
}
