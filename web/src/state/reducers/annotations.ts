import type { Annotation, AnnotationsAction, AnnotationsState } from "../../protocol/types";
import { replaceAt, upsert, without } from "./lists";

export function reduceAnnotations(state: AnnotationsState, action: AnnotationsAction): AnnotationsState {
  if (action.type === "annotations/set") {
    const { annotation } = action;
    return { ...state, annotations: upsert(state.annotations, annotation, ({ id }) => id === annotation.id) };
  }
  const at = state.annotations.findIndex(({ id }) => id === action.annotationId);
  const known = state.annotations[at];
  if (!known) return state;
  const put = (annotation: Annotation) => ({ ...state, annotations: replaceAt(state.annotations, at, annotation) });
  switch (action.type) {
    case "annotations/updated": {
      const { origin, resource, range, resolved } = action;
      return put({
        ...known,
        ...(origin && { origin }),
        ...(resource !== undefined && { resource }),
        ...(range && { range }),
        ...(resolved !== undefined && { resolved }),
      });
    }
    case "annotations/removed":
      return { ...state, annotations: state.annotations.filter(({ id }) => id !== known.id) };
    case "annotations/entrySet": {
      const { entry } = action;
      return put({ ...known, entries: upsert(known.entries, entry, ({ id }) => id === entry.id) });
    }
    case "annotations/entryRemoved": {
      const entries = without(known.entries, ({ id }) => id === action.entryId);
      return entries && entries !== known.entries ? put({ ...known, entries }) : state;
    }
    default:
      return state;
  }
}
