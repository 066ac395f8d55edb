// How the agent works and whether it asks first, at the editor of its session.

import { configure } from "../../app/sessions";
import { useApp, useHost } from "../../app/context";
import { changeable } from "../../state/sessionSettings";
import { SettingMenu } from "./SettingMenu";

const SHOWN = [
  { key: "mode", icon: "sparkle" },
  { key: "autoApprove", icon: "shield" },
] as const;

export function ModePicker() {
  const host = useHost();
  const uri = useApp((state) => state.currentSessionId);
  const session = useApp((state) => state.session);
  if (!uri || !session) return null;
  return SHOWN.map(({ key, icon }) => {
    const property = changeable(session, key);
    if (!property) return null;
    return (
      <SettingMenu
        key={key}
        property={property}
        value={session.config?.values[key]}
        icon={icon}
        shortcut={key === "mode" ? "mode" : undefined}
        isCompact
        onChange={(value) => configure(host, uri, { [key]: value })}
      />
    );
  });
}
