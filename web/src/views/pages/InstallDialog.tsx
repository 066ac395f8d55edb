import { useApp } from "../../app/context";
import { INSTALL } from "../../state/installing";
import { knows } from "../../state/search";
import { CopyButton } from "../ui/CopyButton";
import { Dialog } from "../ui/Dialog";
import { InstallAgents } from "./InstallAgents";

const COMMANDS: [command: string, about: string][] = [
  ["innkeeper agents --all", "lists the agents that the host knows, also those that are not there"],
  ["innkeeper agents install NAME", "installs one of them, such as claude, codex or gemini"],
  ["innkeeper doctor", "says why an agent is not listed or does not start"],
];

/** How to get an agent that is not there: the host installs it, or says how. */
export function InstallDialog({ onClose }: { onClose: () => void }) {
  const canInstall = useApp((state) => knows(state.root, INSTALL));
  return (
    <Dialog label="Install an agent" onClose={onClose}>
      <h2>Install an agent</h2>
      {canInstall ? (
        <>
          <p className="muted">These are installed on the machine of the host, in the version that it knows. You can choose the agent here as soon as it is installed.</p>
          <InstallAgents />
        </>
      ) : (
        <Commands />
      )}
      <form method="dialog" className="button-row">
        <button type="submit" className="button primary" data-first-focus>
          Done
        </button>
      </form>
    </Dialog>
  );
}

function Commands() {
  return (
    <>
      <p className="muted">Run these in a terminal on the machine of the host. An agent is listed here within a few seconds after it was installed.</p>
      <ul className="commands">
        {COMMANDS.map(([command, about]) => (
          <li key={command}>
            <span className="command-line">
              <code>{command}</code>
              <CopyButton text={command} label={`Copy ${command}`} />
            </span>
            <small className="muted">{about}</small>
          </li>
        ))}
      </ul>
    </>
  );
}
