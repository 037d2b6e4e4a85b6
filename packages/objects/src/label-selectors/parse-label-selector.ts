import { formatFieldError, invalid } from '../field-error.ts';
import { labelValue, qualifiedName } from '../names.ts';
import { StatusError } from '../status-error.ts';
import { type LabelOperator, type LabelRequirement, Selector } from './selector.ts';

type TokenKind = 'end' | 'identifier' | 'in' | 'notin' | '(' | ')' | ',' | '!' | '!=' | '=' | '==' | '>' | '<';

interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

const SYMBOLS: ReadonlySet<string> = new Set(['(', ')', ',', '!', '!=', '=', '==', '>', '<']);
const OPERATORS: Readonly<Partial<Record<TokenKind, LabelOperator>>> = {
  in: 'in',
  notin: 'notin',
  '=': 'in',
  '==': 'in',
  '!=': 'notin',
  '>': 'gt',
  '<': 'lt',
};

/** Limit for selectors from other sources than a request line, which is shorter. */
const MAX_SELECTOR = 128 * 1024;

/** Reads the `labelSelector` parameter. Throws StatusError BadRequest with Kubernetes' words. */
export function parseLabelSelector(text: string): Selector {
  if (text.length > MAX_SELECTOR) fail(`unable to parse: the selector has more than ${MAX_SELECTOR} characters`);
  const requirements = new Parser(tokensOf(text)).parse();
  return new Selector([...requirements].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)));
}

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const space = matchAt(/[ \t\r\n]+/y, text, at);
    if (space !== '') {
      at += space.length;
      continue;
    }
    const first = text.charAt(at);
    const symbol = [text.slice(at, at + 2), first].find((candidate) => SYMBOLS.has(candidate));
    const word = symbol ?? (matchAt(/[^=!(),><\s]+/y, text, at) || first);
    const kind = symbol ?? (word === 'in' || word === 'notin' ? word : 'identifier');
    tokens.push({ kind: kind as TokenKind, text: word });
    at += word.length;
  }
  return tokens;
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? '';
}

function fail(message: string): never {
  throw StatusError.badRequest(message);
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): readonly LabelRequirement[] {
    const out: LabelRequirement[] = [];
    for (;;) {
      const token = this.#peekValue();
      if (token.kind === 'end') return out;
      if (token.kind !== 'identifier' && token.kind !== '!')
        fail(`found '${token.text}', expected: !, identifier, or 'end of string'`);
      out.push(this.#requirement());
      const next = this.#take();
      if (next.kind === 'end') return out;
      if (next.kind !== ',') fail(`found '${next.text}', expected: ',' or 'end of string'`);
      const after = this.#peekValue();
      if (after.kind !== 'identifier' && after.kind !== '!')
        fail(`found '${after.text}', expected: identifier after ','`);
    }
  }

  #requirement(): LabelRequirement {
    let token = this.#takeValue();
    const negated = token.kind === '!';
    if (negated) token = this.#takeValue();
    if (token.kind !== 'identifier') this.#failRequirement(`found '${token.text}', expected: identifier`);
    const key = token.text;
    const errors = qualifiedName(key);
    if (errors.length > 0) this.#failRequirement(`<nil>: ${formatFieldError(invalid('', key, errors.join('; ')))}`);
    if (negated) return { key, operator: 'doesNotExist', values: [] };
    const next = this.#peekValue();
    if (next.kind === 'end' || next.kind === ',') return { key, operator: 'exists', values: [] };
    const operatorToken = this.#take();
    const operator = OPERATORS[operatorToken.kind];
    if (operator === undefined)
      this.#failRequirement(`found '${operatorToken.text}', expected: in, notin, =, ==, !=, gt, lt`);
    const isSet = operatorToken.kind === 'in' || operatorToken.kind === 'notin';
    const values = isSet ? this.#set() : [this.#exactValue()];
    this.#checkValues(key, operator, values);
    return { key, operator, values };
  }

  #checkValues(key: string, operator: LabelOperator, values: readonly string[]): void {
    for (const [index, value] of values.entries()) {
      if ((operator === 'gt' || operator === 'lt') && !/^[+-]?\d+$/.test(value))
        this.#failRequirement(
          `values[${index}]: ${formatFieldError(invalid('', value, "for 'Gt', 'Lt' operators, the value must be an integer"))}`,
        );
      const errors = labelValue(value);
      if (errors.length > 0)
        this.#failRequirement(`values[${index}][${key}]: ${formatFieldError(invalid('', value, errors.join('; ')))}`);
    }
  }

  /** Parses the values in parentheses after `in` or `notin`, sorted; an empty place is the empty value. */
  #set(): readonly string[] {
    const open = this.#takeValue();
    if (open.kind !== '(') this.#failRequirement(`found '${open.text}' expected: '('`);
    const values = new Set<string>();
    let expectsValue = true;
    for (;;) {
      const token = this.#takeValue();
      if (token.kind === 'identifier' && expectsValue) {
        values.add(token.text);
        expectsValue = false;
      } else if (token.kind === ',') {
        if (expectsValue) values.add('');
        expectsValue = true;
      } else if (token.kind === ')') {
        if (expectsValue) values.add('');
        return [...values].sort();
      } else {
        this.#failRequirement(
          `found '${token.text}', expected: ${values.size === 0 ? "',', ')' or identifier" : "',' or ')'"}`,
        );
      }
    }
  }

  #exactValue(): string {
    const next = this.#peekValue();
    if (next.kind === 'end' || next.kind === ',') return '';
    const token = this.#takeValue();
    if (token.kind !== 'identifier') this.#failRequirement(`found '${token.text}', expected: identifier`);
    return token.text;
  }

  #failRequirement(message: string): never {
    return fail(`unable to parse requirement: ${message}`);
  }

  #take(): Token {
    return this.#tokens[this.#at++] ?? { kind: 'end', text: '' };
  }

  #takeValue(): Token {
    return asValue(this.#take());
  }

  #peekValue(): Token {
    return asValue(this.#tokens[this.#at] ?? { kind: 'end', text: '' });
  }
}

/** `in` and `notin` are ordinary words where no operator is possible. */
function asValue(token: Token): Token {
  return token.kind === 'in' || token.kind === 'notin' ? { kind: 'identifier', text: token.text } : token;
}
