import { choose } from "../../app/chat";
import { useApp, useHost } from "../../app/context";
import { rememberModel } from "../../app/models";
import { currentModel, modelsOf } from "../../state/model";
import { ModelMenu } from "./ModelMenu";

/** The model of the next message: kept with the draft, and remembered for new sessions. */
export function ModelPicker({ chat }: { chat: string }) {
  const host = useHost();
  const root = useApp((state) => state.root);
  const session = useApp((state) => state.session);
  const state = useApp((known) => known.chat);
  const model = useApp((known) => known.model);
  const level = useApp((known) => known.thinkingLevel);
  const models = modelsOf(root, session).filter(({ policyState }) => policyState !== "disabled");
  return (
    <ModelMenu
      models={models}
      info={currentModel(models, state, session)}
      model={model}
      level={level}
      hasDefault={!model && models.length > 1}
      onChoose={(next) => {
        if (session) rememberModel(session.provider, next);
        choose(host, chat, { model: next });
      }}
    />
  );
}
