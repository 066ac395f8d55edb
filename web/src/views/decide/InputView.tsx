// What a call was given, as a person reads it: a command as a command, the
// rest by name, and never as escaped JSON.

import type { JsonObject, ToolInput } from "../../protocol/types";
import { isBlank, readInput } from "../../state/approval";
import { ContentRefView } from "../timeline/ContentRefView";
import { Icon } from "../ui/Icon";
import { LongText } from "../ui/LongText";
import { Markdown } from "../ui/Markdown";

/** Whoever approves something sees all of it; beyond this, after a click. */
const WHOLE = 200_000;

export function InputView({ input, meta }: { input: ToolInput | undefined; meta: JsonObject | undefined }) {
  if (input === undefined || isBlank(input)) return null;
  if (typeof input !== "string") return <ContentRefView content={input} />;
  const { command, text, description, plan, where, fields } = readInput(input, meta);
  return (
    <>
      {description && <p className="input-description">{description}</p>}
      {command !== undefined && <LongText className="tool-input command" label="Command" limit={WHOLE} text={command} />}
      {command !== undefined && where && <Where path={where} />}
      {plan !== undefined && (
        <div className="plan" role="group" aria-label="Plan" tabIndex={0}>
          <h2 className="sr-only">Plan</h2>
          <Markdown text={plan} />
        </div>
      )}
      {text !== undefined && <LongText className="tool-input" label="Input" limit={WHOLE} text={text} />}
      <InputFields fields={fields} />
    </>
  );
}

/** Where a command runs. */
export function Where({ path }: { path: string }) {
  return (
    <p className="call-where">
      <Icon name="folder" /> in <bdi>{path}</bdi>
    </p>
  );
}

export function InputFields({ fields }: { fields: { name: string; text: string }[] }) {
  if (fields.length === 0) return null;
  return (
    <dl className="input-fields">
      {fields.map(({ name, text }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{text.includes("\n") || text.length > 120 ? <LongText className="tool-input" label={name} limit={WHOLE} text={text} /> : text}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The input next to a difference that says it better: for those who want to see it. */
export function FoldedInput({ input, meta }: { input: ToolInput | undefined; meta: JsonObject | undefined }) {
  if (isBlank(input)) return null;
  return (
    <details className="folded-input">
      <summary>Show input</summary>
      <InputView input={input} meta={meta} />
    </details>
  );
}
