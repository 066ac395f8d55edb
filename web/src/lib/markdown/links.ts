// Where references lead. A definition (`[docs]: https://…`) may stand in any
// block of a text and be meant by any other.

import type { Links } from "marked";
import { definitionsIn } from "./syntax";

export type { Links };

/** Without a prototype: labels are words like `constructor`, too. */
export const NO_LINKS: Links = Object.freeze(Object.create(null) as Links);

/** What is known with the definitions of one more block; the first of a label counts. */
export function withDefinitions(known: Links, source: string): Links {
  if (!source.includes("]:")) return known;
  const found = definitionsIn(source);
  if (Object.keys(found).every((label) => label in known)) return known;
  return Object.assign(Object.create(null) as Links, found, known);
}

/** Whether a definition elsewhere could change what a block shows. */
export function mayRefer(source: string): boolean {
  return source.includes("[");
}
