/**
 * Runs `work`, in which xterm.js makes the `style` elements that it writes to later. A Content-Security-Policy without `unsafe-inline` forbids
 * these: it gets elements whose text becomes an adopted style sheet. (Its option `documentOverride` does not reach all of its parts.) Returns
 * the end of the sheets.
 */
export function adoptStyles(of: Document, work: () => void): () => void {
  const sheets: CSSStyleSheet[] = [];
  const createElement = of.createElement.bind(of);
  const createStyle = (): HTMLElement => {
    const sheet = new CSSStyleSheet();
    sheets.push(sheet);
    of.adoptedStyleSheets.push(sheet);
    const element = createElement('template');
    Object.defineProperty(element, 'textContent', {
      get: () => [...sheet.cssRules].map(({ cssText }) => cssText).join('\n'),
      set: (text: string) => sheet.replaceSync(text),
    });
    return element;
  };
  Object.defineProperty(of, 'createElement', {
    configurable: true,
    value: (name: string, options?: ElementCreationOptions) =>
      name === 'style' ? createStyle() : createElement(name, options),
  });
  try {
    work();
  } finally {
    Reflect.deleteProperty(of, 'createElement');
  }
  return () => {
    of.adoptedStyleSheets = of.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet));
  };
}
