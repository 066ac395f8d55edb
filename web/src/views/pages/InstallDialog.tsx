import { CopyButton } from "../ui/CopyButton";
import { Dialog } from "../ui/Dialog";

const COMMANDS: [command: string, about: string][] = [
  ["innkeeper agents --all", "lists the agents that the host knows, also those that are not there"],
  ["innkeeper agents install NAME", "installs one of them, such as claude, codex or gemini"],
  ["innkeeper doctor", "says why an agent is not listed or does not start"],
];

/** How to get an agent that is not there: on the host's machine, as no client may install programs there. */
export function InstallDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog label="Install an agent" onClose={onClose}>
      <h2>Install an agent</h2>
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
      <form method="dialog" className="button-row">
        <button type="submit" className="button primary" data-first-focus>
          Done
        </button>
      </form>
    </Dialog>
  );
}
