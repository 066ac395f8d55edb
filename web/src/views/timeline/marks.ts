// Marks over words in the page, by the browser's own highlights.

const ALL = "find";
const CURRENT = "find-current";
/** What is in the page is little; a long output may still repeat a letter often. */
const MOST = 2_000;

export function marksIn(element: HTMLElement, query: string, current: string | undefined): void {
  withoutMarks();
  if (!query || !("highlights" in CSS)) return;
  const wanted = query.toLowerCase();
  const [all, here] = [new Highlight(), new Highlight()];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.nodeValue?.toLowerCase() ?? "";
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      if (all.size + here.size >= MOST) break;
      const range = new StaticRange({ startContainer: node, startOffset: at, endContainer: node, endOffset: at + wanted.length });
      const isCurrent = node.parentElement?.closest<HTMLElement>("[data-key]")?.dataset.key === current;
      (isCurrent ? here : all).add(range);
    }
  }
  CSS.highlights.set(ALL, all);
  CSS.highlights.set(CURRENT, here);
}

export function withoutMarks(): void {
  if (!("highlights" in CSS)) return;
  CSS.highlights.delete(ALL);
  CSS.highlights.delete(CURRENT);
}
