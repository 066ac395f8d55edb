/**
 * The document, but `style` elements made by it put their rules into
 * constructed style sheets: the page's policy allows no inline styles, and
 * the terminal writes its rules into such elements.
 */
export function documentWithoutStyleElements(): Document {
  return new Proxy(document, {
    get(target, key) {
      if (key === "createElement") {
        return (name: string) => (name === "style" ? sheetElement() : target.createElement(name));
      }
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

function sheetElement(): HTMLElement {
  const sheet = new CSSStyleSheet();
  const element = document.createElement("span");
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
