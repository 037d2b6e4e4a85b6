import { append } from '@gantry/base';
import { declareFunction as declare, type FunctionDeclaration } from '../environment/function-declaration.ts';
import { type CelType, structOf } from '../types.ts';
import { ArrayList } from '../values/collections.ts';
import { parseRfc3339 } from '../values/timestamp.ts';
import { CelOpaque, CelOptional, type CelResult, type CelValue } from '../values/value.ts';
import { parseRequestUri } from './urls.ts';

/** A named format; validates a string. */
class FormatValue extends CelOpaque {
  readonly type: CelType = structOf('kubernetes.NamedFormat');
  readonly name: string;
  override readonly patternSize: number;
  readonly problems: (text: string) => readonly string[];

  constructor(name: string, patternSize: number, problems: (text: string) => readonly string[]) {
    super();
    this.name = name;
    this.patternSize = patternSize;
    this.problems = problems;
  }

  equals(other: CelOpaque): boolean {
    return other instanceof FormatValue && other.name === this.name;
  }
}

interface NameRule {
  readonly max: number;
  readonly pattern: string;
  readonly message: string;
  readonly examples: readonly string[];
}

const LABEL: NameRule = {
  max: 63,
  pattern: '[a-z0-9]([-a-z0-9]*[a-z0-9])?',
  message:
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  examples: ['my-name', '123-abc'],
};
const SUBDOMAIN: NameRule = {
  max: 253,
  pattern: '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*',
  message:
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  examples: ['example.com'],
};
const LABEL_1035: NameRule = {
  max: 63,
  pattern: '[a-z]([-a-z0-9]*[a-z0-9])?',
  message:
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  examples: ['my-name', 'abc-123'],
};
const LABEL_VALUE: NameRule = {
  max: 63,
  pattern: '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?',
  message:
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  examples: ['MyValue', 'my_value', '12345'],
};
const NAME_PART: NameRule = {
  max: 63,
  pattern: '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]',
  message:
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  examples: ['MyName', 'my.name', '123-abc'],
};

/** Matches in linear time: each pattern is anchored, and its parts begin with different characters. */
const matches = (text: string, { pattern }: NameRule) => new RegExp(`^(?:${pattern})$`).test(text);

function explain({ message, pattern, examples }: NameRule): string {
  const shown = examples.map((example) => `'${example}'`).join(',  or ');
  return `${message} (e.g. ${shown}, regex used for validation is '${pattern}')`;
}

function check(text: string, rule: NameRule): readonly string[] {
  const problems: string[] = [];
  if (Buffer.byteLength(text) > rule.max) problems.push(`must be no more than ${rule.max} bytes`);
  // Longer strings are not matched against the pattern: the length alone is an error.
  if (text.length > 1_000 || !matches(text, rule)) problems.push(explain(rule));
  return problems;
}

/** A prefix (`generateName`) may end with a dash. */
const prefix = (rule: NameRule) => (text: string) =>
  check(text.endsWith('-') && text.length > 1 ? `${text.slice(0, -1)}a` : text, rule);
const whole = (rule: NameRule) => (text: string) => check(text, rule);

function qualifiedName(text: string): readonly string[] {
  const parts = text.split('/');
  const full =
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
  if (parts.length > 2) return [full];
  const problems: string[] = [];
  const [first = '', second] = parts;
  if (second !== undefined) {
    if (first === '') problems.push('prefix part must be non-empty');
    else
      append(
        problems,
        check(first, SUBDOMAIN).map((problem) => `prefix part ${problem}`),
      );
  }
  const name = second ?? first;
  if (name === '') problems.push('name part must be non-empty');
  else if (Buffer.byteLength(name) > 63) problems.push('name part must be no more than 63 bytes');
  if (!matches(name.slice(0, 1_000), NAME_PART)) problems.push(`name part ${explain(NAME_PART)}`);
  return problems;
}

const unless = (holds: (text: string) => boolean, problem: string) => (text: string) => (holds(text) ? [] : [problem]);

function uri(text: string): readonly string[] {
  const parsed = parseRequestUri(text);
  return 'message' in parsed ? [parsed.message] : [];
}

const isDate = (text: string) => /^\d{4}-\d{2}-\d{2}$/.test(text) && parseRfc3339(`${text}T00:00:00Z`) !== undefined;
const isBase64 = (text: string) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text);
const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

const FORMATS: ReadonlyMap<string, FormatValue> = new Map(
  (
    [
      ['dns1123Label', 'DNS1123Label', 30, whole(LABEL)],
      ['dns1123Subdomain', 'DNS1123Subdomain', 60, whole(SUBDOMAIN)],
      ['dns1035Label', 'DNS1035Label', 30, whole(LABEL_1035)],
      ['qualifiedName', 'QualifiedName', 60, qualifiedName],
      ['dns1123LabelPrefix', 'DNS1123LabelPrefix', 30, prefix(LABEL)],
      ['dns1123SubdomainPrefix', 'DNS1123SubdomainPrefix', 60, prefix(SUBDOMAIN)],
      ['dns1035LabelPrefix', 'DNS1035LabelPrefix', 30, prefix(LABEL_1035)],
      ['labelValue', 'LabelValue', 40, whole(LABEL_VALUE)],
      ['uri', 'URI', 1_000, uri],
      ['uuid', 'uuid', 98, unless((text) => UUID.test(text), 'does not match the UUID format')],
      ['byte', 'byte', 84, unless(isBase64, 'invalid base64')],
      ['date', 'date', 66, unless(isDate, 'invalid date')],
      [
        'datetime',
        'datetime',
        66,
        unless((text) => parseRfc3339(text.toUpperCase()) !== undefined, 'invalid datetime'),
      ],
    ] as const
  ).map(([key, name, size, problems]) => [key, new FormatValue(name, size, problems)]),
);

function validate(format: CelValue, text: CelValue): CelResult {
  const problems = format instanceof FormatValue ? format.problems(text as string) : [];
  return new CelOptional(problems.length === 0 ? undefined : new ArrayList(problems));
}

/** Formats by name. */
export const FORMAT_FUNCTIONS: readonly FunctionDeclaration[] = [
  ...[...FORMATS].map(([key, format]) =>
    declare(`format.${key}`, [`format.${key}`, '() -> kubernetes.NamedFormat', () => format]),
  ),
  declare('format.named', [
    'format-named',
    '(string) -> optional(kubernetes.NamedFormat)',
    (name) => new CelOptional(FORMATS.get(name as string)),
  ]),
  declare('validate', ['format-validate', 'kubernetes.NamedFormat.(string) -> optional(list(string))', validate]),
];
