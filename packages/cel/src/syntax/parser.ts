import { type Issue } from '../source.ts';
import { CelUint } from '../values/value.ts';
import { type Expr, type FieldInit, type MapEntry } from './ast.ts';
import { sizeOfExpr } from './build.ts';
import { tokenize, type Token, type TokenKind } from './lexer.ts';
import { expandMacro } from './macros.ts';
import { EXPRESSION_START, SyntaxFailure, TokenStream } from './token-stream.ts';
import { unescapeBytes, unescapeString } from './unescape.ts';

const MAX_CODE_POINTS = 100_000;
const MAX_DEPTH = 250;
/**
 * The maximum number of tokens of an expression, and of parts of its macro expansions: compiling it takes up to about 25 ms. Go's engine
 * has no such limits, because compiling there does not block the server.
 */
const MAX_TOKENS = 10_000;
const MAX_PARTS = 5000;

/** Parses an expression and expands its macros, or reports syntax errors. */
export type Parsed = (
  | { readonly ok: true; readonly expr: Expr }
  | { readonly ok: false; readonly issues: readonly Issue[] }
) & {
  readonly tokens: number;
  /** The number of parts of its macro expansions; 0 if it was not parsed. */
  readonly parts: number;
};

export function parse(text: string): Parsed {
  const length = countCodePoints(text);
  if (length > MAX_CODE_POINTS) {
    const message = `expression code point size exceeds limit: size: ${length}, limit ${MAX_CODE_POINTS}`;
    return refused(message, { tokens: 0, parts: 0 });
  }
  const { tokens, issues: lexical } = tokenize(text, MAX_TOKENS);
  if (tokens.length > MAX_TOKENS) {
    return refused(`expression has more than ${MAX_TOKENS} tokens`, { tokens: tokens.length, parts: 0 });
  }
  const issues = [...lexical];
  const expr = new Parser(tokens, issues).parse();
  if (expr === undefined || issues.length > 0) {
    return { ok: false, issues, tokens: tokens.length, parts: 0 };
  }
  const parts = sizeOfExpr(expr);
  const size = { tokens: tokens.length, parts };
  if (parts > MAX_PARTS) return refused(`expression has ${parts} parts, limit ${MAX_PARTS}`, size);
  return { ok: true, expr, ...size };
}

function refused(message: string, size: Pick<Parsed, 'tokens' | 'parts'>): Parsed {
  return { ok: false, issues: [{ offset: -1, message }], ...size };
}

function countCodePoints(text: string): number {
  let size = text.length;
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) >> 10 === 0x36) size--;
  }
  return size;
}

class TooDeep extends Error {}

const RELATIONS: ReadonlySet<TokenKind> = new Set<TokenKind>(['<', '<=', '>=', '>', '==', '!=', 'in']);
const SUMS: ReadonlySet<TokenKind> = new Set<TokenKind>(['+', '-']);
const PRODUCTS: ReadonlySet<TokenKind> = new Set<TokenKind>(['*', '/', '%']);

const RESERVED = new Set([
  ...['as', 'break', 'const', 'continue', 'else', 'for', 'function', 'if', 'import', 'let', 'loop'],
  ...['package', 'namespace', 'return', 'var', 'void', 'while'],
]);

class Parser {
  readonly #tokens: TokenStream;
  readonly #issues: Issue[];
  #depth = 0;

  constructor(tokens: readonly Token[], issues: Issue[]) {
    this.#issues = issues;
    this.#tokens = new TokenStream(tokens, issues);
  }

  parse(): Expr | undefined {
    try {
      const expr = this.#expr();
      this.#tokens.expect('<EOF>');
      return expr;
    } catch (error) {
      if (error instanceof SyntaxFailure) return undefined;
      if (!(error instanceof TooDeep)) throw error;
      this.#issues.push({ offset: -1, message: error.message });
      return undefined;
    }
  }

  #expr(): Expr {
    if (++this.#depth > MAX_DEPTH) throw new TooDeep(`expression recursion limit exceeded: ${MAX_DEPTH}`);
    const condition = this.#or();
    const operator = this.#tokens.accept('?');
    let result = condition;
    if (operator !== undefined) {
      const ifTrue = this.#tokens.within([':'], () => this.#or());
      this.#tokens.expect(':');
      result = this.#call(operator.offset, '_?_:_', [condition, ifTrue, this.#expr()]);
    }
    this.#depth--;
    return result;
  }

  /** A chain of operators nests to the left, so its length counts as depth. */
  #lengthen(length: number): void {
    if (length + this.#depth > MAX_DEPTH) throw new TooDeep('max recursion depth exceeded');
  }

  #or(): Expr {
    return this.#logic('||', '_||_', () => this.#logic('&&', '_&&_', () => this.#relation()));
  }

  /** Builds a balanced tree from the terms of one logical operator, so that long chains stay shallow. */
  #logic(kind: TokenKind, name: string, operand: () => Expr): Expr {
    const terms = [operand()];
    const offsets: number[] = [];
    for (let token = this.#tokens.accept(kind); token !== undefined; token = this.#tokens.accept(kind)) {
      offsets.push(token.offset);
      terms.push(operand());
    }
    const balance = (low: number, high: number): Expr => {
      if (low > high) return terms[low] as Expr;
      const middle = (low + high + 1) >> 1;
      const [left, right] = [balance(low, middle - 1), balance(middle + 1, high)];
      return { kind: 'call', offset: offsets[middle] ?? 0, function: name, target: undefined, args: [left, right] };
    };
    return balance(0, offsets.length - 1);
  }

  #relation(): Expr {
    return this.#chain(RELATIONS, () => this.#chain(SUMS, () => this.#chain(PRODUCTS, () => this.#unary())));
  }

  #chain(operators: ReadonlySet<TokenKind>, operand: () => Expr): Expr {
    let left = operand();
    for (let length = 0; operators.has(this.#tokens.peek().kind); length++) {
      this.#lengthen(length);
      const operator = this.#tokens.next();
      const name = operator.kind === 'in' ? '@in' : `_${operator.kind}_`;
      left = this.#call(operator.offset, name, [left, operand()]);
    }
    return left;
  }

  #unary(): Expr {
    const first = this.#tokens.peek();
    if (first.kind === '!') {
      let count = 0;
      for (; this.#tokens.accept('!') !== undefined; count++);
      if (!this.#startsMember()) this.#tokens.unwanted(EXPRESSION_START);
      const operand = this.#member();
      return count % 2 === 0 ? operand : this.#call(first.offset, '!_', [operand]);
    }
    if (first.kind !== '-' || (this.#tokens.peek(1).kind.startsWith('NUM_') && !this.#isUint(1))) return this.#member();
    let count = 0;
    for (; this.#tokens.accept('-') !== undefined; count++);
    if (!this.#startsMember()) this.#tokens.noAlternative('-');
    const operand = this.#member();
    return count % 2 === 0 ? operand : this.#call(first.offset, '-_', [operand]);
  }

  #isUint(ahead: number): boolean {
    return this.#tokens.peek(ahead).kind === 'NUM_UINT';
  }

  #startsMember(): boolean {
    return this.#tokens.is(...EXPRESSION_START) && !this.#tokens.is('!');
  }

  #member(): Expr {
    let expr = this.#primary();
    for (let length = 0; ; length++) {
      const token = this.#tokens.peek();
      if (token.kind === '.') expr = this.#selected(expr, this.#tokens.next());
      else if (token.kind === '[') expr = this.#indexed(expr, this.#tokens.next());
      else return expr;
      this.#lengthen(length);
    }
  }

  #selected(operand: Expr, dot: Token): Expr {
    const optional = this.#tokens.accept('?');
    if (optional !== undefined) {
      const name = this.#fieldName();
      const field: Expr = { kind: 'literal', offset: name.offset, value: name.text };
      return { kind: 'call', offset: dot.offset, function: '_?._', target: undefined, args: [operand, field] };
    }
    if (!this.#tokens.is('IDENTIFIER', 'ESC_IDENTIFIER')) this.#tokens.noAlternative('.');
    const name = this.#fieldName();
    const open = name.kind === 'IDENTIFIER' ? this.#tokens.accept('(') : undefined;
    if (open === undefined) return { kind: 'select', offset: dot.offset, operand, field: name.text, test: false };
    return this.#call(open.offset, name.text, this.#arguments(), operand);
  }

  #fieldName(): Token {
    if (!this.#tokens.is('IDENTIFIER', 'ESC_IDENTIFIER')) this.#tokens.mismatched(['IDENTIFIER', 'ESC_IDENTIFIER']);
    const token = this.#tokens.next();
    if (token.kind === 'ESC_IDENTIFIER') {
      this.#issues.push({ offset: token.offset, message: "unsupported syntax: '`'" });
    }
    return token;
  }

  #indexed(operand: Expr, open: Token): Expr {
    const optional = this.#tokens.accept('?') !== undefined;
    if (!optional) this.#ensureStart(['?']);
    const index = this.#tokens.within([']'], () => this.#expr());
    this.#tokens.expect(']');
    return this.#call(open.offset, optional ? '_[?_]' : '_[_]', [operand, index]);
  }

  #ensureStart(others: readonly TokenKind[]): void {
    this.#tokens.ensure([...EXPRESSION_START, ...others]);
  }

  #arguments(): readonly Expr[] {
    this.#ensureStart([')']);
    if (this.#tokens.accept(')') !== undefined) return [];
    const args = this.#tokens.within([')', ','], () => {
      const read = [this.#expr()];
      while (this.#tokens.accept(',') !== undefined) read.push(this.#expr());
      return read;
    });
    this.#tokens.expect(')');
    return args;
  }

  #primary(): Expr {
    this.#ensureStart([]);
    const token = this.#tokens.peek();
    switch (token.kind) {
      case '.':
      case 'IDENTIFIER':
        return this.#named();
      case '(': {
        this.#tokens.next();
        const inner = this.#tokens.within([')'], () => this.#expr());
        this.#tokens.expect(')');
        return inner;
      }
      case '[':
        return this.#list(this.#tokens.next());
      case '{':
        return this.#map(this.#tokens.next());
      default:
        return this.#literal();
    }
  }

  #named(): Expr {
    const dot = this.#tokens.accept('.');
    if (!this.#tokens.is('IDENTIFIER')) this.#tokens.noAlternative('.');
    const name = this.#tokens.next();
    const prefix = dot === undefined ? '' : '.';
    const message = this.#messageBrace();
    if (message !== undefined) return this.#struct(name, prefix, message);
    const open = this.#tokens.accept('(');
    const args = open === undefined ? undefined : this.#arguments();
    if (RESERVED.has(name.text)) {
      return this.#unspecified((dot ?? name).offset, `reserved identifier: ${name.text}`);
    }
    if (args === undefined) return { kind: 'ident', offset: name.offset, name: prefix + name.text };
    return this.#call(open?.offset ?? 0, prefix + name.text, args);
  }

  /** The number of further `.name` before a `{`, when they are the name of a message. */
  #messageBrace(): number | undefined {
    let ahead = 0;
    while (this.#tokens.peek(ahead).kind === '.' && this.#tokens.peek(ahead + 1).kind === 'IDENTIFIER') ahead += 2;
    return this.#tokens.peek(ahead).kind === '{' ? ahead / 2 : undefined;
  }

  #struct(first: Token, prefix: string, rest: number): Expr {
    let name = prefix + first.text;
    for (let index = 0; index < rest; index++) {
      this.#tokens.next();
      name += `.${this.#tokens.next().text}`;
    }
    const open = this.#tokens.next();
    const fields: FieldInit[] = [];
    const start = ['}', ',', '?', 'IDENTIFIER', 'ESC_IDENTIFIER'] as const;
    this.#tokens.ensure(start);
    this.#entries(() => {
      const optional = this.#tokens.accept('?') !== undefined;
      const field = this.#fieldName();
      const colon = this.#tokens.expect(':');
      const value = this.#tokens.within(['}', ','], () => this.#expr());
      fields.push({ offset: colon.offset, name: field.text, value, optional });
    });
    return { kind: 'struct', offset: open.offset, name, fields };
  }

  #map(open: Token): Expr {
    const entries: MapEntry[] = [];
    this.#ensureStart(['}', ',', '?']);
    this.#entries(() => {
      const optional = this.#tokens.accept('?') !== undefined;
      const key = this.#tokens.within([':'], () => this.#expr());
      const colon = this.#tokens.expect(':');
      const value = this.#tokens.within(['}', ','], () => this.#expr());
      entries.push({ offset: colon.offset, key, value, optional });
    });
    return { kind: 'map', offset: open.offset, entries };
  }

  /** Entries up to and including the closing brace. A trailing comma is allowed, also without entries. */
  #entries(read: () => void): void {
    if (!this.#tokens.is('}', ',')) {
      read();
      this.#tokens.ensure(['}', ',']);
      while (this.#tokens.is(',') && this.#tokens.is(',') && this.#continues(['?', 'IDENTIFIER', 'ESC_IDENTIFIER'])) {
        this.#tokens.next();
        read();
        this.#tokens.ensure(['}', ',']);
      }
    }
    this.#tokens.accept(',');
    this.#tokens.expect('}');
  }

  #continues(others: readonly TokenKind[]): boolean {
    const kind = this.#tokens.peek(1).kind;
    return EXPRESSION_START.includes(kind) || others.includes(kind);
  }

  #list(open: Token): Expr {
    const elements: Expr[] = [];
    const optional = new Set<number>();
    const read = () => {
      if (this.#tokens.accept('?') !== undefined) optional.add(elements.length);
      elements.push(this.#tokens.within([']', ','], () => this.#expr()));
      this.#tokens.ensure([']', ',']);
    };
    this.#ensureStart([']', ',', '?']);
    if (!this.#tokens.is(']', ',')) {
      read();
      while (this.#tokens.is(',') && this.#continues(['?'])) {
        this.#tokens.next();
        read();
      }
    }
    this.#tokens.accept(',');
    this.#tokens.expect(']');
    return { kind: 'list', offset: open.offset, elements, optional };
  }

  #literal(): Expr {
    const sign = this.#tokens.accept('-');
    const token = this.#tokens.next();
    const offset = (sign ?? token).offset;
    const text = (sign === undefined ? '' : '-') + token.text;
    switch (token.kind) {
      case 'NUM_INT':
        return this.#number(offset, BigInt.asIntN(64, integer(text)) === integer(text), integer(text), 'int');
      case 'NUM_UINT': {
        const value = integer(token.text.slice(0, -1));
        return this.#number(offset, BigInt.asUintN(64, value) === value, new CelUint(value), 'uint');
      }
      case 'NUM_FLOAT':
        return this.#number(offset, Number.isFinite(Number(text)), Number(text), 'double');
      case 'STRING':
        return this.#text(offset, unescapeString(token.text));
      case 'BYTES':
        return this.#text(offset, unescapeBytes(token.text.slice(1)));
      default:
        return { kind: 'literal', offset, value: token.kind === 'null' ? null : token.kind === 'true' };
    }
  }

  #number(offset: number, fits: boolean, value: bigint | number | CelUint, kind: string): Expr {
    return fits ? { kind: 'literal', offset, value } : this.#unspecified(offset, `invalid ${kind} literal`);
  }

  #text(offset: number, read: ReturnType<typeof unescapeString> | ReturnType<typeof unescapeBytes>): Expr {
    return read.ok ? { kind: 'literal', offset, value: read.value } : this.#unspecified(offset, read.message);
  }

  #call(offset: number, name: string, args: readonly Expr[], target?: Expr): Expr {
    const expansion = expandMacro(name, target, args, offset);
    if (expansion === undefined) return { kind: 'call', offset, function: name, target, args };
    if ('expr' in expansion) return expansion.expr;
    return this.#unspecified(expansion.issue.offset, expansion.issue.message);
  }

  #unspecified(offset: number, message: string): Expr {
    this.#issues.push({ offset, message });
    return { kind: 'unspecified', offset };
  }
}

function integer(text: string): bigint {
  return text.startsWith('-') ? -BigInt(text.slice(1)) : BigInt(text);
}
