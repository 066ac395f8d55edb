import { useState } from "react";
import type { ConfigPropertySchema } from "../../protocol/types";
import { choicesOf } from "../../state/sessionSettings";
import { Icon } from "../ui/Icon";
import type { IconName } from "../ui/Icon";
import { Menu } from "../ui/Menu";

interface Props {
  property: ConfigPropertySchema;
  value: unknown;
  icon?: IconName;
  shortcut?: "mode";
  /** Whether its icon says enough where there is little room. */
  isCompact?: boolean;
  /** Finds choices that only the host knows. */
  suggest?: (query: string) => Promise<{ value: string; label: string }[]>;
  onChange: (value: unknown) => void;
}

/** A setting with few choices, as a chip at the editor. */
export function SettingMenu({ property, value, icon, shortcut, isCompact = false, suggest, onChange }: Props) {
  const [found, setFound] = useState<{ value: unknown; label: string; about?: string }[]>();
  const known = suggest ? (found ?? []) : choicesOf(property);
  const current = value ?? property.default;
  const label = choicesOf(property).find((choice) => choice.value === current)?.label ?? (typeof current === "string" && current ? current : property.title);
  const isChosen = value !== undefined && property.default !== undefined && value !== property.default;
  // Asked when somebody is about to choose, and not before: it may take work to find out.
  const ask = () => {
    if (suggest && !found) void suggest("").then((items) => setFound(items.slice(0, 200)));
  };
  return (
    <span className="chip-slot" onPointerEnter={ask} onFocus={ask}>
      <Menu
        label={`${property.title}: ${label}`}
        className={`picker${isCompact ? " compact" : ""}${isChosen ? " chosen" : ""}`}
        shortcut={shortcut}
        items={known.length > 0 ? known.map((choice) => ({ label: choice.label, about: choice.about, isChecked: choice.value === current, run: () => onChange(choice.value) })) : [{ label: suggest && !found ? "Looking…" : "Nothing to choose", run: () => {} }]}
      >
        {icon && <Icon name={icon} />} <span>{label}</span>
      </Menu>
    </span>
  );
}
