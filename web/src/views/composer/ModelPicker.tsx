import { choose } from "../../app/chat";
import { useApp, useHost } from "../../app/context";
import type { ModelSelection } from "../../protocol/types";
import { aboutModel, modelsOf, thinkingKey } from "../../state/model";
import { Menu } from "../ui/Menu";

/** Which model answers next, and how hard it thinks: kept with the draft. */
export function ModelPicker({ chat }: { chat: string }) {
  const host = useHost();
  const root = useApp((state) => state.root);
  const session = useApp((state) => state.session);
  const model = useApp((state) => state.model);
  const level = useApp((state) => state.thinkingLevel);
  const models = modelsOf(root, session).filter(({ policyState }) => policyState !== "disabled");
  const info = models.find(({ id }) => id === model?.id) ?? models[0];
  if (!info) return null;
  const select = (next: ModelSelection) => choose(host, chat, { model: next });
  const key = thinkingKey(info.configSchema);
  const schema = key ? info.configSchema?.properties[key] : undefined;
  return (
    <>
      <Menu
        label={`Model: ${info.name || info.id}`}
        className="picker"
        items={models.map((one) => ({
          label: one.name || one.id,
          hint: aboutModel(one),
          isChecked: one.id === info.id,
          run: () => select({ id: one.id }),
        }))}
      >
        {info.name || info.id}
      </Menu>
      {key && schema && (
        <Menu
          label={`${schema.title || "Thinking"}: ${level ?? schema.title}`}
          className="picker"
          items={(schema.enum ?? []).map((value, index) => ({
            label: schema.enumLabels?.[index] ?? String(value),
            isChecked: value === level,
            run: () => select({ id: info.id, config: { ...model?.config, [key]: value } }),
          }))}
        >
          {level ?? schema.title}
        </Menu>
      )}
    </>
  );
}
