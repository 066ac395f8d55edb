// Who tries: one row for each attempt, with an agent and a model.

import type { Contender } from "../../app/attempts";
import { thinkingLevel, usualModel } from "../../state/model";
import { ModelMenu } from "../composer/ModelMenu";
import { AgentMark } from "../ui/AgentMark";
import { Menu } from "../ui/Menu";
import type { Beginnings } from "./useBeginning";
import "../../styles/attempts.css";

interface Props {
  beginning: Beginnings;
  contenders: readonly Contender[];
  onChange: (contenders: Contender[]) => void;
}

export function AttemptRows({ beginning, contenders, onChange }: Props) {
  return (
    <ol className="contenders" aria-label="Attempts">
      {contenders.map((contender, index) => (
        <Row key={index} number={index + 1} beginning={beginning} contender={contender} onChange={(next) => onChange(contenders.map((known, at) => (at === index ? next : known)))} />
      ))}
    </ol>
  );
}

function Row({ number, beginning, contender, onChange }: { number: number; beginning: Beginnings; contender: Contender; onChange: (next: Contender) => void }) {
  const { agents, agent: usual, model: usualChoice } = beginning;
  const agent = agents.find(({ provider }) => provider === contender.provider) ?? usual;
  if (!agent) return null;
  const models = agent.models.filter(({ policyState }) => policyState !== "disabled");
  const model = contender.model ?? (agent === usual ? usualChoice : undefined);
  const info = models.find(({ id }) => id === model?.id) ?? usualModel(models);
  return (
    <li aria-label={`Attempt ${number}`}>
      <span className="muted">Attempt {number}</span>
      <Menu
        label={`Agent of attempt ${number}: ${agent.displayName}`}
        className="picker"
        items={agents.map((known) => ({ label: known.displayName, isChecked: known === agent, run: () => onChange(known === usual ? {} : { provider: known.provider }) }))}
      >
        <AgentMark provider={agent.provider} name={agent.displayName} /> <span>{agent.displayName}</span>
      </Menu>
      <ModelMenu models={models} info={info} model={model} level={thinkingLevel(model, info)} hasDefault={false} name={`Model of attempt ${number}`} onChoose={(next) => onChange({ ...contender, model: next })} />
    </li>
  );
}
