// Highlighted code as runs of text with a class: data, never markup.

export type Run = [className: string, text: string];

/** Reads the only markup that the highlighter writes: spans and entities. */
export function runsOf(html: string): Run[] {
  const runs: Run[] = [];
  const classes: string[] = [];
  for (const [, opened, closing, text] of html.matchAll(/<span class="([^"]*)">|(<\/span>)|([^<]+)/g)) {
    if (opened !== undefined) classes.push(opened);
    else if (closing) classes.pop();
    else if (text) runs.push([classes.at(-1) ?? "", decode(text)]);
  }
  return runs;
}

const ENTITIES: Record<string, string> = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'", "&amp;": "&" };

function decode(text: string): string {
  return text.replace(/&(?:lt|gt|quot|#x27|amp);/g, (entity) => ENTITIES[entity] ?? entity);
}
