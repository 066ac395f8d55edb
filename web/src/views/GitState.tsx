// Where a session stands in git: the branch, and what is not with others yet.

import type { JsonObject } from "../protocol/types";
import { Icon } from "./ui/Icon";

interface Git {
  branch?: string;
  upstream?: string;
  ahead?: number;
  behind?: number;
  dirty?: boolean;
}

export function GitState({ meta }: { meta: JsonObject | undefined }) {
  const { branch, upstream, ahead = 0, behind = 0, dirty } = (meta?.["git"] ?? {}) as Git;
  if (!branch) return null;
  const about = [
    `Branch ${branch}`,
    dirty && "with uncommitted changes",
    upstream && (ahead > 0 || behind > 0) && `${ahead} ahead of and ${behind} behind ${upstream}`,
  ];
  return (
    <span className="git-state" title={about.filter(Boolean).join(", ")}>
      <Icon name="branch" />
      <span className="git-branch">
        {branch}
        {dirty && "*"}
      </span>
      {ahead > 0 && <span>↑{ahead}</span>}
      {behind > 0 && <span>↓{behind}</span>}
    </span>
  );
}
