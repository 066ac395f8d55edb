// Which model an agent begins with, where it has several.

import type { AgentInfo } from "../protocol/types";
import { aboutModel } from "../state/model";

interface Props {
  agent: AgentInfo | undefined;
  /** Empty for the agent's own choice. */
  model: string;
  onChange: (model: string) => void;
}

export function ModelField({ agent, model, onChange }: Props) {
  if (!agent?.models.length) return null;
  const chosen = agent.models.find(({ id }) => id === model);
  const about = chosen && aboutModel(chosen);
  return (
    <label className="field">
      Model
      <select value={model} onChange={({ target }) => onChange(target.value)}>
        <option value="">The agent’s default</option>
        {agent.models.map(({ id, name }) => (
          <option key={id} value={id}>
            {name || id}
          </option>
        ))}
      </select>
      {about && <small>{about}</small>}
    </label>
  );
}
