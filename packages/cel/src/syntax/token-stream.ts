import { type Issue } from '../source.ts';
import { type Token, type TokenKind } from './lexer.ts';

/** Thrown when parsing cannot continue; the issue has been reported. */
export class SyntaxFailure extends Error {}

const CONSTANTS = ['true', 'false', 'null'] as const;
/** Tokens that messages name by kind. */
const VALUES = ['NUM_FLOAT', 'NUM_INT', 'NUM_UINT', 'STRING', 'BYTES', 'IDENTIFIER'] as const;

/** In the order in which messages list expected tokens. */
const ORDER: readonly TokenKind[] = [
  '[',
  ']',
  '{',
  '}',
  '(',
  ')',
  '.',
  ',',
  '-',
  '!',
  '?',
  ':',
  ...CONSTANTS,
  ...VALUES,
  'ESC_IDENTIFIER',
];

/** Tokens that may start an expression. */
export const EXPRESSION_START: readonly TokenKind[] = ['[', '{', '(', '.', '-', '!', ...CONSTANTS, ...VALUES];

/** Tokens that may follow a complete operand in every context. */
const OPERATORS: ReadonlySet<TokenKind> = new Set<TokenKind>([
  ...(['==', '!=', 'in', '<', '<=', '>=', '>', '&&', '||'] as const),
  ...(['+', '-', '*', '/', '%', '?', '.', '['] as const),
]);

const LITERAL_NAMES: ReadonlySet<string> = new Set([...VALUES, 'ESC_IDENTIFIER', '<EOF>']);

/**
 * A token stream with the error recovery of cel-go's parser, so that messages match: one extra token is dropped, a missing one
 * is assumed, and any other error ends parsing.
 */
export class TokenStream {
  readonly #tokens: readonly Token[];
  readonly #issues: Issue[];
  /** Per open bracket, innermost last: tokens that may follow an operand in it. */
  readonly #followers: (readonly TokenKind[])[] = [['<EOF>']];
  #index = 0;

  constructor(tokens: readonly Token[], issues: Issue[]) {
    this.#tokens = tokens;
    this.#issues = issues;
  }

  peek(ahead = 0): Token {
    return this.#tokens[Math.min(this.#index + ahead, this.#tokens.length - 1)] as Token;
  }

  is(...kinds: readonly TokenKind[]): boolean {
    return kinds.includes(this.peek().kind);
  }

  next(): Token {
    const token = this.peek();
    this.#index++;
    return token;
  }

  /** Consumes the next token if it is of the kind. */
  accept(kind: TokenKind): Token | undefined {
    return this.is(kind) ? this.next() : undefined;
  }

  /** Reads the content of a bracket; `followers` may end an operand in it. */
  within<T>(followers: readonly TokenKind[], read: () => T): T {
    this.#followers.push(followers);
    try {
      return read();
    } finally {
      this.#followers.pop();
    }
  }

  /** Consumes a token of the kind. Drops one token before it, or assumes it, where that repairs the input. */
  expect(kind: TokenKind): Token {
    const token = this.peek();
    if (token.kind === kind) return this.next();
    if (this.peek(1).kind === kind && token.kind !== '<EOF>') {
      this.#report(token, `extraneous input '${token.text}' expecting ${format([kind])}`);
      this.next();
      return this.next();
    }
    if (this.#mayFollow(kind, token.kind)) {
      this.#report(token, `missing ${format([kind])} at '${token.text}'`);
      return { kind, text: '', offset: token.offset };
    }
    return this.mismatched([kind]);
  }

  /** Ensures that a token of one of the kinds is next; may drop one token. */
  ensure(kinds: readonly TokenKind[]): void {
    const token = this.peek();
    if (kinds.includes(token.kind)) return;
    if (token.kind === '<EOF>' || !kinds.includes(this.peek(1).kind)) this.mismatched(kinds);
    this.unwanted(kinds);
  }

  /** Reports and drops the next token; throws at the end of the text. */
  unwanted(kinds: readonly TokenKind[]): void {
    const token = this.next();
    this.#report(token, `extraneous input '${token.text}' expecting ${format(kinds)}`);
    if (token.kind === '<EOF>') throw new SyntaxFailure();
  }

  mismatched(kinds: readonly TokenKind[]): never {
    const token = this.peek();
    this.#report(token, `mismatched input '${token.text}' expecting ${format(kinds)}`);
    throw new SyntaxFailure();
  }

  /** Reports that no rule of the grammar starts with `first` and the next token. */
  noAlternative(first: string): never {
    const token = this.peek();
    const text = token.kind === '<EOF>' ? '' : token.text;
    if (token.kind === 'true' || token.kind === 'false' || token.kind === 'null') this.mismatched(['IDENTIFIER']);
    this.#report(token, `no viable alternative at input '${first}${text}'`);
    throw new SyntaxFailure();
  }

  #mayFollow(assumed: TokenKind, kind: TokenKind): boolean {
    if (assumed === ':') return EXPRESSION_START.includes(kind);
    return assumed !== '<EOF>' && (OPERATORS.has(kind) || (this.#followers.at(-1)?.includes(kind) ?? false));
  }

  #report(token: Token, message: string): void {
    this.#issues.push({ offset: token.offset, message: `Syntax error: ${message}` });
  }
}

function format(kinds: readonly TokenKind[]): string {
  const quoted = ORDER.filter((kind) => kinds.includes(kind)).map((kind) =>
    LITERAL_NAMES.has(kind) ? kind : `'${kind}'`,
  );
  if (quoted.length === 0) return kinds.join('');
  return quoted.length === 1 ? quoted.join('') : `{${quoted.join(', ')}}`;
}
