import { isOwnClient } from "../app/client";
import { useHost } from "../app/context";
import type { ActiveClient } from "../protocol/types";
import { Icon } from "./ui/Icon";

/** Who else is on this session: a quiet count, with names on demand. */
export function Presence({ clients }: { clients: ActiveClient[] }) {
  const { store } = useHost();
  const others = clients.filter(({ clientId }) => clientId !== store.clientId && !isOwnClient(clientId));
  if (others.length === 0) return null;
  const names = others.map(({ displayName }) => displayName ?? "Another client");
  const label = `Also here: ${names.join(", ")}`;
  return (
    <span className="presence" title={label} role="img" aria-label={label}>
      <Icon name="people" />
      {others.length === 1 && <span className="only-wide">{names[0]}</span>}
      <span className={others.length === 1 ? "only-narrow" : undefined}>{others.length}</span>
    </span>
  );
}
