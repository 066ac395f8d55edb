import { configure } from "../../app/sessions";
import { useHost } from "../../app/context";
import { nextMode } from "../../state/sessionSettings";

/** Shift+Tab goes to the next mode of the agent, as in its own program. */
export function useModeKey(): (event: React.KeyboardEvent) => boolean {
  const host = useHost();
  return (event) => {
    if (event.key !== "Tab" || !event.shiftKey) return false;
    const { session, currentSessionId } = host.store.getState();
    const mode = session && nextMode(session);
    if (!currentSessionId || mode === undefined) return false;
    event.preventDefault();
    configure(host, currentSessionId, { mode });
    return true;
  };
}
