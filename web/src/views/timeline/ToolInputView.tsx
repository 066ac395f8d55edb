import type { ToolCall, ToolInput } from "../../protocol/types";
import { LongText } from "../ui/LongText";
import { ContentRefView } from "./ContentRefView";

export function ToolInputView({ call }: { call: ToolCall }) {
  const input = call.status === "streaming" ? call.partialInput : call.toolInput;
  if (input === undefined || input === "" || input === "{}") return null;
  return <InputText input={input} />;
}

export function InputText({ input }: { input: ToolInput }) {
  if (typeof input !== "string") return <ContentRefView content={input} />;
  return <LongText className="tool-input" text={pretty(input)} />;
}

/** JSON with room to breathe; anything else as it is. */
export function pretty(input: string): string {
  try {
    const value: unknown = JSON.parse(input);
    if (typeof value !== "object" || value === null) return input;
    const [only, ...more] = Object.entries(value);
    if (only && more.length === 0 && typeof only[1] === "string") return only[1];
    return JSON.stringify(value, null, 2);
  } catch {
    return input;
  }
}
