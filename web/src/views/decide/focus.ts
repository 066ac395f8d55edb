export function focusEditor(): void {
  const place = document.querySelector<HTMLElement>("[data-composer]") ?? document.querySelector<HTMLElement>("main h1");
  place?.focus();
}

/** After a decision its buttons are gone: on to the next one, or to the editor. */
export function focusNext(): void {
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      if (document.activeElement && document.activeElement !== document.body) return;
      const next = document.querySelector<HTMLElement>("main [data-decision=approve]");
      if (next) next.focus();
      else focusEditor();
    }),
  );
}
