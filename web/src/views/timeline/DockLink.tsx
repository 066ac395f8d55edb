import { useHost } from "../../app/context";
import { waitingId } from "../../state/waiting";
import { useWaits } from "../decide/Decide";

/** From what waits in the conversation to where it is decided. */
export function DockLink({ chat, of, label }: { chat: string; of: string; label: string }) {
  const { store } = useHost();
  const id = waitingId(chat, of);
  if (!useWaits(id)) return null;
  const show = () => {
    store.dock(id);
    document.querySelector<HTMLElement>("[data-dock]")?.focus();
  };
  return (
    <button type="button" className="link-button dock-link" onClick={show}>
      {label}
    </button>
  );
}
