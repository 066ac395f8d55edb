import { useCallback, useEffect, useRef } from "react";
import { setDraft } from "../../app/chat";
import type { Words } from "../../app/chat";
import { useApp, useHost } from "../../app/context";

/** Typing rests for this long before others are shown what was typed. */
const DEBOUNCE_MS = 500;

/**
 * Keeps the chat's draft and the editor together: what is typed here goes to
 * the host after a moment; what another client types comes in, unless
 * something is being typed here.
 */
export function useDraft(chat: string, words: Words, take: (draft: Words) => void): () => void {
  const host = useHost();
  const draft = useApp((state) => state.chat?.draft);
  const said = useRef(draft?.text ?? "");
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const isTyping = useRef(false);
  const latest = useRef({ words, take });
  useEffect(() => {
    latest.current = { words, take };
  });

  useEffect(() => {
    const shared = draft?.text ?? "";
    if (isTyping.current || shared === latest.current.words.text) return;
    said.current = shared;
    latest.current.take({ text: shared, attachments: draft?.attachments });
  }, [draft]);

  const { text, attachments } = words;
  const attached = attachments?.length ?? 0;
  useEffect(() => {
    if (text === said.current && attached === 0) return;
    isTyping.current = true;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      isTyping.current = false;
      said.current = text;
      const { model, agent } = latest.current.words;
      setDraft(host, chat, { text, model, agent });
    }, DEBOUNCE_MS);
    return () => clearTimeout(timer.current);
  }, [host, chat, text, attached]);

  return useCallback(() => {
    clearTimeout(timer.current);
    isTyping.current = false;
    if (said.current !== "") setDraft(host, chat, undefined);
    said.current = "";
  }, [host, chat]);
}
