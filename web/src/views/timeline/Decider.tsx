import { useApp, useHost } from "../../app/context";
import type { UiMessage } from "../../state/appState";
import { keyOfEntry } from "../../state/decisions";

/** Who decided, if it was somebody else: said quietly. */
export function Decider({ message, chat }: { message: UiMessage; chat: string }) {
  const { store } = useHost();
  const key = keyOfEntry(chat, message);
  const client = useApp((state) => state.decisions.get(key));
  const name = useApp((state) => state.session?.activeClients.find(({ clientId }) => clientId === client)?.displayName);
  if (client === undefined || client === store.clientId) return null;
  return <p className="decider">Decided by {name ?? "another client"}</p>;
}
