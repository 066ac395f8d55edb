import type { ConfigState } from "../../protocol/types";
import { ConfigForm } from "../ConfigForm";
import { Dialog } from "../ui/Dialog";
import type { Beginnings } from "./useBeginning";

interface Props {
  beginning: Beginnings;
  config: ConfigState;
  /** The settings that have no chip. */
  keys: string[];
  onClose: () => void;
}

export function OptionsDialog({ beginning: { agent, values, setValue, suggest }, config, keys, onClose }: Props) {
  const properties = Object.fromEntries(Object.entries(config.schema.properties).filter(([key]) => keys.includes(key)));
  return (
    <Dialog label="More options" onClose={onClose}>
      <h2>More options{agent && ` of ${agent.displayName}`}</h2>
      <ConfigForm schema={{ ...config.schema, properties }} values={{ ...config.values, ...values }} onChange={setValue} suggest={suggest} />
      <form method="dialog" className="button-row">
        <button type="submit" className="button primary">
          Done
        </button>
      </form>
    </Dialog>
  );
}
