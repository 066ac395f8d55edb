// The terminal writes its rules into `style` elements and colours into `style`
// attributes. The page's policy allows neither, and should not: here they
// become constructed style sheets and properties, which it allows.

/** The document, for whoever takes one: what it makes obeys the policy. */
export function obedientDocument(): Document {
  return new Proxy(document, {
    get(target, key) {
      if (key === "createElement") return (name: string) => obedient(target.createElement.bind(target), name);
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** For code that takes no document: while `run` runs, the page's own obeys. */
export function obediently(run: () => void): void {
  const create = document.createElement.bind(document);
  document.createElement = ((name: string) => obedient(create, name)) as typeof document.createElement;
  try {
    run();
  } finally {
    document.createElement = create;
  }
}

function obedient(create: (name: string) => HTMLElement, name: string): HTMLElement {
  return name === "style" ? sheetElement(create) : create(name);
}

/**
 * Characters with colours of their own are spans, made long after the terminal
 * was opened. For all spans, the attribute is set the way that is allowed; the
 * outcome is the same.
 */
export function obedientSpans(): void {
  const { setAttribute } = Element.prototype;
  HTMLSpanElement.prototype.setAttribute = function (this: HTMLElement, name, value) {
    if (name === "style") this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };
}

/** Looks like a `style` element to whoever fills it. */
function sheetElement(create: (name: string) => HTMLElement): HTMLElement {
  const sheet = new CSSStyleSheet();
  const element = create("span");
  element.hidden = true;
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  Object.defineProperty(element, "textContent", {
    get: () => [...sheet.cssRules].map(({ cssText }) => cssText).join("\n"),
    set: (text: string) => sheet.replaceSync(text),
  });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((known) => known !== sheet);
    Element.prototype.remove.call(element);
  };
  return element;
}
