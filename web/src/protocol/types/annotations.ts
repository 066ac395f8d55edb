// Annotations: what is written about lines of files in a session.

import type { JsonObject, StringOrMarkdown, TextRange, URI } from "./common";

export interface AnnotationEntry {
  id: string;
  text: StringOrMarkdown;
  _meta?: JsonObject;
}

export interface AnnotationOrigin {
  session: URI;
  chat?: URI;
  turnId?: string;
}

export interface Annotation {
  id: string;
  origin: AnnotationOrigin;
  resource: URI;
  range?: TextRange;
  resolved: boolean;
  entries: AnnotationEntry[];
  _meta?: JsonObject;
}

export interface AnnotationsState {
  annotations: Annotation[];
}
