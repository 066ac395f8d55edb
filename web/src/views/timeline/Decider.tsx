import { useApp, useHost } from "../../app/context";

/** Who decided, if it was somebody else: said quietly. */
export function Decider({ id }: { id: string }) {
  const { store } = useHost();
  const client = useApp((state) => state.decisions.get(id));
  const name = useApp((state) => state.session?.activeClients.find(({ clientId }) => clientId === client)?.displayName);
  if (client === undefined || client === store.clientId) return null;
  return <p className="decider">Decided by {name ?? "another client"}</p>;
}
