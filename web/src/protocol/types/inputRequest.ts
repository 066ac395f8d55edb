// Questions that an agent asks a person, and the answers.

import type { URI } from "./common";

export interface InputOption {
  id: string;
  label: string;
  description?: string;
  recommended?: boolean;
}

interface QuestionBase {
  id: string;
  title?: string;
  message: string;
  required?: boolean;
}

export interface TextQuestion extends QuestionBase {
  kind: "text";
  format?: string;
  min?: number;
  max?: number;
  defaultValue?: string;
}

export interface NumberQuestion extends QuestionBase {
  kind: "number" | "integer";
  min?: number;
  max?: number;
  defaultValue?: number;
}

export interface BooleanQuestion extends QuestionBase {
  kind: "boolean";
  defaultValue?: boolean;
}

export interface SingleSelectQuestion extends QuestionBase {
  kind: "single-select";
  options: InputOption[];
  allowFreeformInput?: boolean;
}

export interface MultiSelectQuestion extends QuestionBase {
  kind: "multi-select";
  options: InputOption[];
  allowFreeformInput?: boolean;
  min?: number;
  max?: number;
}

export type InputQuestion =
  | TextQuestion
  | NumberQuestion
  | BooleanQuestion
  | SingleSelectQuestion
  | MultiSelectQuestion;

export type AnswerValue =
  | { kind: "text"; value: string }
  | { kind: "number"; value: number }
  | { kind: "boolean"; value: boolean }
  | { kind: "selected"; value: string; freeformValues?: string[] }
  | { kind: "selected-many"; value: string[]; freeformValues?: string[] };

export type InputAnswer =
  | { state: "draft" | "submitted"; value: AnswerValue }
  | { state: "skipped"; freeformValues?: string[] };

export type InputResponseKind = "accept" | "decline" | "cancel";

export interface InputRequest {
  id: string;
  message?: string;
  url?: URI;
  questions?: InputQuestion[];
  answers?: Record<string, InputAnswer>;
}
