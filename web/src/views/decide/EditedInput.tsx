import { useId } from "react";
import { readInput } from "../../state/approval";
import { InputFields, Where } from "./InputView";

interface Props {
  toolName: string;
  input: string;
  text: string;
  isValid: boolean;
  onChange: (text: string) => void;
}

/** An input that may be changed before it is approved. */
export function EditedInput({ toolName, input, text, isValid, onChange }: Props) {
  const id = useId();
  const { command, description, where, fields } = readInput(input, undefined);
  return (
    <>
      {command !== undefined && description && <p className="input-description">{description}</p>}
      <label className="sr-only" htmlFor={id}>
        Input of {toolName}, editable
      </label>
      <textarea
        id={id}
        className="tool-input"
        rows={Math.min(20, text.split("\n").length)}
        value={text}
        spellCheck={false}
        aria-invalid={!isValid}
        onChange={(event) => onChange(event.target.value)}
      />
      {!isValid && (
        <p className="problem" role="alert">
          This is not valid JSON yet.
        </p>
      )}
      {command !== undefined && where && <Where path={where} />}
      {command !== undefined && <InputFields fields={fields} />}
    </>
  );
}
