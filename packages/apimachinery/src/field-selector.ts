import { apiVersionOf, StatusError } from '@gantry/objects';
import type { ResourceDefinition } from './resource-definition.ts';

export interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** A parsed field selector: every requirement must hold. Immutable. */
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

  /** The value that the selector requires of `field`; undefined if there is no such requirement. */
  requiresExact(field: string): string | undefined {
    return this.requirements.find((r) => r.field === field && r.operator === '=')?.value;
  }
}

/**
 * Parses the `fieldSelector` parameter. Throws StatusError BadRequest with Kubernetes' message, also for a field that the kind does not
 * support.
 */
export function parseFieldSelector(text: string, labels: FieldLabels): FieldSelector {
  const requirements: FieldRequirement[] = [];
  for (const term of splitTerms(text)) {
    if (term === '') continue;
    const parsed = splitTerm(term);
    if (parsed === undefined) throw StatusError.badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    requirements.push({ ...parsed, value: unescape(parsed.value) });
  }
  for (const { field } of requirements) if (!labels.supports(field)) throw labels.refusal(field);
  return new FieldSelector(requirements);
}

/** Splits at commas that are not escaped by a backslash. */
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
      const next = String.fromCodePoint(...[value.codePointAt(++at)].filter((code) => code !== undefined));
      if (next !== '\\' && next !== ',' && next !== '=')
        throw StatusError.badRequest(`invalid field selector: invalid escape sequence: \\${next}`);
      out += next;
    } else if (character === ',' || character === '=') {
      // Kubernetes' message has the character's code.
      throw StatusError.badRequest(`invalid field selector: unescaped character in value: ${character.charCodeAt(0)}`);
    } else out += character;
  }
  return out;
}

/** The fields by which objects of a kind may be selected. */
export interface FieldLabels {
  readonly supports: (field: string) => boolean;
  /** The error for an unsupported field. */
  readonly refusal: (field: string) => StatusError;
}

type Selectable = Pick<
  ResourceDefinition,
  'group' | 'version' | 'namespaced' | 'schema' | 'selectableFields' | 'fieldSelectorError'
>;

/** For kinds without selectable fields of their own. */
const PLAIN: FieldLabels = {
  supports: (field) => field === 'metadata.name' || field === 'metadata.namespace',
  refusal: (field) =>
    StatusError.badRequest(
      `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
    ),
};

const unsupported = (field: string) => `field label not supported: ${field}`;

/**
 * The selectable fields of a kind. Kinds with their own fields and custom resources support `metadata.namespace` only if they are
 * namespaced; all others support it always, as in Kubernetes.
 */
export function fieldLabelsOf(definition: Selectable): FieldLabels {
  const { namespaced, schema, selectableFields, fieldSelectorError = unsupported } = definition;
  const custom = typeof schema !== 'string';
  if (!custom && Object.keys(selectableFields).length === 0) return PLAIN;
  return {
    supports: (field) =>
      field === 'metadata.name' ||
      (field === 'metadata.namespace' && namespaced) ||
      Object.hasOwn(selectableFields, field),
    refusal: (field) => StatusError.badRequest(fieldSelectorError(field, apiVersionOf(definition))),
  };
}
