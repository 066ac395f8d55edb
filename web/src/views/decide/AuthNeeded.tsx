import { useHost } from "../../app/context";
import type { AuthRequiredCall } from "../../protocol/types";
import { SignIn } from "./SignIn";

/** A server behind the tool wants credentials before the call can go on. */
export function AuthNeeded({ chat, turnId, call }: { chat: string; turnId: string; call: AuthRequiredCall }) {
  const { store } = useHost();
  const { auth } = call;
  const cancel = () =>
    store.dispatch(chat, {
      type: "chat/toolCallComplete",
      turnId,
      toolCallId: call.toolCallId,
      result: { success: false, pastTenseMessage: "Sign-in was declined" },
    });
  return (
    <div className="approval">
      <p className="decide-title">{auth.resource.resource_name ?? auth.resource.resource} wants you to sign in</p>
      {auth.description && <p className="muted">{auth.description}</p>}
      <SignIn resource={auth.resource} client={auth.oauthClient?.clientId} />
      <div className="button-row">
        <button type="button" className="button danger" onClick={cancel}>
          Continue without it
        </button>
      </div>
    </div>
  );
}
