import type { ChangesetAction, ChangesetState, ErrorInfo } from "../../protocol/types";
import { replaceAt, upsert, withField, without } from "./lists";

export function reduceChangeset(state: ChangesetState, action: ChangesetAction): ChangesetState {
  switch (action.type) {
    case "changeset/statusChanged":
      return withError({ ...state, status: action.status }, action);
    case "changeset/fileSet": {
      const { file } = action;
      return { ...state, files: upsert(state.files, file, (known) => known.id === file.id) };
    }
    case "changeset/fileRemoved": {
      const files = without(state.files, (file) => file.id === action.fileId);
      return files && files !== state.files ? { ...state, files } : state;
    }
    case "changeset/filesReviewChanged": {
      const { reviewed } = action;
      const ids = new Set(action.files);
      const files = state.files.map((file) => (ids.has(file.id) ? { ...file, reviewed } : file));
      return { ...state, files };
    }
    case "changeset/contentChanged": {
      const operations = action.operations ?? state.operations;
      return withField({ ...state, files: action.files }, "operations", operations);
    }
    case "changeset/operationsChanged":
      return withField(state, "operations", action.operations);
    case "changeset/operationStatusChanged": {
      const at = state.operations?.findIndex((operation) => operation.id === action.operationId) ?? -1;
      const operation = state.operations?.[at];
      if (!state.operations || !operation) return state;
      const next = withError({ ...operation, status: action.status }, action);
      return { ...state, operations: replaceAt(state.operations, at, next) };
    }
    case "changeset/cleared":
      return state.files.length ? { ...state, files: [] } : state;
    default:
      return state;
  }
}

/** An error belongs to the status `error` only, so that none outlives it. */
function withError<T extends { error?: ErrorInfo }>(state: T, action: { status: string; error?: ErrorInfo }): T {
  return withField(state, "error", action.status === "error" ? action.error : undefined);
}
