// Directories that sessions worked in lately: where the next one may, too.

import type { SessionSummary, URI } from "../protocol/types";
import { nameOf } from "../protocol/uri";

export interface Project {
  uri: URI;
  name: string;
  usedAt: string;
}

const MOST = 8;

/** The latest first, each once. A session in a worktree of its own counts for its project. */
export function recentProjects(sessions: readonly SessionSummary[]): Project[] {
  const found = new Map<URI, Project>();
  for (const { project, workingDirectories, modifiedAt } of sessions) {
    const uri = (project?.uri.startsWith("file:") ? project.uri : workingDirectories?.[0])?.replace(/\/+$/, "");
    if (!uri) continue;
    const known = found.get(uri);
    if (!known || known.usedAt < modifiedAt) found.set(uri, { uri, name: project?.displayName ?? nameOf(uri), usedAt: modifiedAt });
  }
  return [...found.values()].sort((a, b) => (a.usedAt < b.usedAt ? 1 : -1)).slice(0, MOST);
}
