/**
 * The document for xterm.js. It writes its styles into `style` elements, which a Content-Security-Policy without `unsafe-inline` forbids: here
 * it gets elements whose text becomes an adopted style sheet. `close` takes the sheets away.
 */
export function createStyledDocument(real: Document): { readonly document: Document; close(): void } {
  const sheets: CSSStyleSheet[] = [];
  const createStyle = (): HTMLElement => {
    const sheet = new CSSStyleSheet();
    sheets.push(sheet);
    real.adoptedStyleSheets.push(sheet);
    const element = real.createElement('template');
    Object.defineProperty(element, 'textContent', {
      get: () => [...sheet.cssRules].map(({ cssText }) => cssText).join('\n'),
      set: (text: string) => sheet.replaceSync(text),
    });
    return element;
  };
  const create = (name: string, options?: ElementCreationOptions) =>
    name === 'style' ? createStyle() : real.createElement(name, options);
  const document = new Proxy(real, {
    get: (target, key) => {
      if (key === 'createElement') return create;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
    set: (target, key, value) => Reflect.set(target, key, value, target),
  });
  const close = () => {
    real.adoptedStyleSheets = real.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet));
  };
  return { document, close };
}
