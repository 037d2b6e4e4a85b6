/**
 * A pattern of a schema as a regular expression. Patterns are written for RE2, whose syntax is nearly a part of ours: leading
 * flags, named groups and the anchors of whole texts are put in our words. Undefined for what is no expression.
 */
export function compilePattern(pattern: string): RegExp | undefined {
  const known = compiled.get(pattern);
  if (known !== undefined) return known.expression;
  const expression = build(pattern);
  if (compiled.size >= MAX_KEPT) compiled.clear();
  compiled.set(pattern, { expression });
  return expression;
}

const MAX_KEPT = 1000;
const compiled = new Map<string, { readonly expression: RegExp | undefined }>();

const POSIX: Readonly<Record<string, string>> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  ascii: '\\x00-\\x7F',
  blank: '\\t ',
  digit: '0-9',
  lower: 'a-z',
  punct: '!-\\/:-@\\[-`{-~',
  space: '\\t\\n\\v\\f\\r ',
  upper: 'A-Z',
  word: '0-9A-Za-z_',
  xdigit: '0-9A-Fa-f',
};

function build(pattern: string): RegExp | undefined {
  // RE2 has neither: an expression of ours would take more.
  if (/\(\?[=!<](?![A-Za-z])/.test(pattern) || /(^|[^\\])(\\\\)*\\[1-9]/.test(pattern)) return undefined;
  const leading = /^\(\?([ims]+)\)/.exec(pattern);
  const flags = leading?.[1] ?? '';
  const source = pattern
    .slice(leading?.[0].length ?? 0)
    .replaceAll('(?P<', '(?<')
    .replaceAll('\\A', '^')
    .replaceAll('\\z', '$')
    .replaceAll(/\[:(\w+):\]/g, (whole, name: string) => POSIX[name] ?? whole);
  for (const unicode of ['u', '']) {
    try {
      return new RegExp(source, `${unicode}${flags}`);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  return undefined;
}
