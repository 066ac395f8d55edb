import { rememberChoice, useModelsLately } from "../../app/models";
import type { ModelInfo, ModelSelection } from "../../protocol/types";
import { aboutModel, isUsual, lately, thinkingKey, usualModel } from "../../state/model";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";

interface Props {
  models: readonly ModelInfo[];
  /** What is known about the model that answers, if anything is. */
  info: ModelInfo | undefined;
  model: ModelSelection | undefined;
  level: string | undefined;
  /** Whether the choice can be left to the agent. */
  hasDefault: boolean;
  /** What is chosen, where there are several such menus. */
  name?: string;
  onChoose: (model: ModelSelection | undefined) => void;
}

/** Which model answers, and how hard it thinks. */
export function ModelMenu({ models, info, model, level, hasDefault, name, onChoose }: Props) {
  const provider = models[0]?.provider ?? "";
  const recent = lately(models, useModelsLately(provider));
  if (models.length === 0) return null;
  const key = thinkingKey(info?.configSchema);
  const schema = key ? info?.configSchema?.properties[key] : undefined;
  const usual = usualModel(models);
  const shown = info ? info.name || info.id : "Default model";
  return (
    <>
      <Menu
        label={`${name ?? "Model"}: ${shown}`}
        className="picker"
        shortcut={name ? undefined : "model"}
        items={[
          ...(hasDefault ? [{ label: "Default", about: usual ? `${usual.name || usual.id}, as the agent is configured` : "As the agent is configured", isChecked: !model, run: () => onChoose(undefined) }] : []),
          ...[...recent, ...models.filter((one) => !recent.includes(one))].map((one, index) => ({
            label: one.name || one.id,
            about: aboutModel(one),
            ...(models.length > 1 && isUsual(one) ? { hint: "default" } : {}),
            ...(recent.length > 0 && index === 0 ? { heading: "Chosen lately" } : {}),
            ...(recent.length > 0 && index === recent.length ? { heading: "Others" } : {}),
            isChecked: one.id === (model?.id ?? (hasDefault ? undefined : info?.id)),
            run: () => {
              rememberChoice(provider, one.id);
              onChoose({ id: one.id });
            },
          })),
        ]}
      >
        <Icon name="model" /> <span>{shown}</span>
      </Menu>
      {key && schema && info && (
        <Menu
          label={`${schema.title || "Thinking"}: ${level ?? schema.title}`}
          className="picker"
          items={(schema.enum ?? []).map((value, index) => ({
            label: schema.enumLabels?.[index] ?? String(value),
            isChecked: value === level,
            run: () => onChoose({ id: info.id, config: { ...model?.config, [key]: value } }),
          }))}
        >
          <span>{schema.enumLabels?.[(schema.enum ?? []).indexOf(level)] ?? level ?? schema.title}</span>
        </Menu>
      )}
    </>
  );
}
