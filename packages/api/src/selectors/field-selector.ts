import { StatusError } from '../status-error.ts';

export interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** A field selector, parsed: every requirement must hold. Immutable. */
export class FieldSelector {
  readonly requirements: readonly FieldRequirement[];

  constructor(requirements: readonly FieldRequirement[]) {
    this.requirements = requirements;
  }

  /** Whether it matches everything. */
  get empty(): boolean {
    return this.requirements.length === 0;
  }

  /** `get` reads a field of the object; absent fields read as ''. */
  matches(get: (field: string) => string): boolean {
    return this.requirements.every(({ field, operator, value }) => (get(field) === value) === (operator === '='));
  }

  /** The one value that `field` must have, if the selector demands one. */
  requiresExact(field: string): string | undefined {
    return this.requirements.find((r) => r.field === field && r.operator === '=')?.value;
  }
}

/**
 * Reads the `fieldSelector` parameter. `supported` are the fields that the kind knows besides metadata.name and (for kinds
 * in namespaces) metadata.namespace, which every kind has. Throws StatusError BadRequest with Kubernetes' words.
 */
export function parseFieldSelector(text: string, supported: ReadonlySet<string>): FieldSelector {
  const requirements: FieldRequirement[] = [];
  for (const term of splitTerms(text)) {
    if (term === '') continue;
    const parsed = splitTerm(term);
    if (parsed === undefined) throw StatusError.badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    requirements.push({ ...parsed, value: unescape(parsed.value) });
  }
  for (const { field } of requirements) {
    if (field !== 'metadata.name' && field !== 'metadata.namespace' && !supported.has(field))
      throw unknownField(field, supported);
  }
  return new FieldSelector(requirements);
}

function unknownField(field: string, supported: ReadonlySet<string>): StatusError {
  const known = supported.size === 0;
  return StatusError.badRequest(
    known
      ? `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`
      : `field label not supported: ${field}`,
  );
}

/** Splits at commas that no backslash escapes. */
function splitTerms(text: string): readonly string[] {
  const terms: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === ',') {
      terms.push(text.slice(start, at));
      start = at + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

function splitTerm(term: string): FieldRequirement | undefined {
  for (let at = 0; at < term.length; at++) {
    const rest = term.slice(at, at + 2);
    if (rest === '!=') return { field: term.slice(0, at), operator: '!=', value: term.slice(at + 2) };
    if (rest === '==') return { field: term.slice(0, at), operator: '=', value: term.slice(at + 2) };
    if (rest.startsWith('=')) return { field: term.slice(0, at), operator: '=', value: term.slice(at + 1) };
  }
  return undefined;
}

function unescape(value: string): string {
  let out = '';
  for (let at = 0; at < value.length; at++) {
    const character = value.charAt(at);
    if (character === '\\') {
      const next = value.charAt(++at);
      if (next !== '\\' && next !== ',' && next !== '=')
        throw StatusError.badRequest(`invalid field selector: invalid escape sequence: \\${next}`);
      out += next;
    } else if (character === ',' || character === '=') {
      throw StatusError.badRequest(`invalid field selector: unescaped character in value: ${character}`);
    } else out += character;
  }
  return out;
}
