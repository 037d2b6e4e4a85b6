import { append } from '@gantry/base';
/**
 * Syntax of names, keys and numbers. Every check returns error messages, [] for a valid value; callers report them with the field's path.
 */

const DNS1123_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const DNS1035_LABEL = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const DNS1123_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const DNS1123_SUBDOMAIN_UNDERSCORE = /^_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$/;
const QUALIFIED_NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const CONFIG_KEY = /^[-._a-zA-Z0-9]+$/;
const PERCENT = /^[0-9]+%$/;
const C_IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const HTTP_HEADER = /^[-A-Za-z0-9]+$/;

/** A message about a pattern in Kubernetes' form, with examples and the pattern itself. */
export function patternMessage(message: string, pattern: RegExp, ...examples: readonly string[]): string {
  const source = pattern.source.replace(/^\^/, '').replace(/\$$/, '').replaceAll('\\/', '/');
  const list = examples.map((example) => `'${example}', `).join(' or ');
  return `${message} (e.g. ${list}regex used for validation is '${source}')`;
}

export function maxLengthMessage(length: number, unit: 'characters' | 'bytes' = 'characters'): string {
  return `must be no more than ${length} ${unit}`;
}

const SUBDOMAIN_MESSAGE = patternMessage(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  DNS1123_SUBDOMAIN,
  'example.com',
);

/** A DNS label (RFC 1123): for containers, volumes and namespaces. */
export function dns1123Label(value: string): string[] {
  const errors: string[] = [];
  if (value.length > 63) errors.push(maxLengthMessage(63));
  if (!DNS1123_LABEL.test(value)) {
    errors.push(
      DNS1123_SUBDOMAIN.test(value)
        ? 'must not contain dots'
        : patternMessage(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
            DNS1123_LABEL,
            'my-name',
            '123-abc',
          ),
    );
  }
  return errors;
}

/** A DNS label (RFC 1035), which starts with a letter: for API versions. */
export function dns1035Label(value: string): string[] {
  const errors: string[] = [];
  if (value.length > 63) errors.push(maxLengthMessage(63));
  if (!DNS1035_LABEL.test(value)) {
    errors.push(
      patternMessage(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
        DNS1035_LABEL,
        'my-name',
        'abc-123',
      ),
    );
  }
  return errors;
}

/** A DNS subdomain (RFC 1123): for most objects. */
export function dns1123Subdomain(value: string, unit: 'characters' | 'bytes' = 'characters'): string[] {
  const errors: string[] = [];
  if (value.length > 253) errors.push(maxLengthMessage(253, unit));
  if (!DNS1123_SUBDOMAIN.test(value)) errors.push(SUBDOMAIN_MESSAGE);
  return errors;
}

const WILDCARD_SUBDOMAIN = /^\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** A subdomain whose first label is an asterisk. */
export function wildcardSubdomain(value: string): string[] {
  const errors: string[] = [];
  if (value.length > 253) errors.push(maxLengthMessage(253));
  if (!WILDCARD_SUBDOMAIN.test(value)) {
    errors.push(
      patternMessage(
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
        WILDCARD_SUBDOMAIN,
        '*.example.com',
      ),
    );
  }
  return errors;
}

/** A subdomain whose labels may begin with and contain underscores: DNS search paths. */
export function dns1123SubdomainWithUnderscore(value: string): string[] {
  const errors: string[] = [];
  if (value.length > 253) errors.push(maxLengthMessage(253));
  if (!DNS1123_SUBDOMAIN_UNDERSCORE.test(value)) {
    errors.push(
      patternMessage(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
        DNS1123_SUBDOMAIN_UNDERSCORE,
        'example.com',
      ),
    );
  }
  return errors;
}

const QUALIFIED_MESSAGE = patternMessage(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  QUALIFIED_NAME,
  'MyName',
  'my.name',
  '123-abc',
);

/** `name` or `dns.prefix/name`: keys of labels, annotations, taints and the like. */
export function qualifiedName(value: string): string[] {
  const errors: string[] = [];
  const parts = value.split('/');
  const [first = '', second] = parts;
  if (parts.length > 2) {
    return [
      `a valid label key ${QUALIFIED_MESSAGE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  let name = first;
  if (second !== undefined) {
    name = second;
    if (first === '') errors.push('prefix part must be non-empty');
    else
      append(
        errors,
        dns1123Subdomain(first, 'bytes').map((message) => `prefix part ${message}`),
      );
  }
  if (name === '') errors.push('name part must be non-empty');
  else if (name.length > 63) errors.push(`name part ${maxLengthMessage(63, 'bytes')}`);
  if (!QUALIFIED_NAME.test(name)) errors.push(`name part ${QUALIFIED_MESSAGE}`);
  return errors;
}

/** The value of a label: empty, or up to 63 letters, digits, `-`, `_` and `.`. */
export function labelValue(value: string): string[] {
  const errors: string[] = [];
  if (Buffer.byteLength(value) > 63) errors.push(maxLengthMessage(63, 'bytes'));
  if (!LABEL_VALUE.test(value)) {
    errors.push(
      patternMessage(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        LABEL_VALUE,
        'MyValue',
        'my_value',
        '12345',
      ),
    );
  }
  return errors;
}

/** A key of a ConfigMap or Secret, which becomes a file name. */
export function configKey(value: string): string[] {
  const errors: string[] = [];
  if (value.length > 253) errors.push(maxLengthMessage(253));
  if (!CONFIG_KEY.test(value)) {
    errors.push(
      patternMessage(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        CONFIG_KEY,
        'key.name',
        'KEY_NAME',
        'key-name',
      ),
    );
  }
  if (value === '.') errors.push("must not be '.'");
  else if (value === '..') errors.push("must not be '..'");
  else if (value.startsWith('..')) errors.push("must not start with '..'");
  return errors;
}

/** A name that can be a segment of a URL path: the minimum requirement for every object's name. */
export function pathSegment(value: string, isPrefix: boolean): string[] {
  if (!isPrefix && (value === '.' || value === '..')) return [`may not be '${value}'`];
  return ['/', '%'].filter((illegal) => value.includes(illegal)).map((illegal) => `may not contain '${illegal}'`);
}

/** The number of a TCP, UDP or SCTP port. */
export function portNumber(value: number): string[] {
  return value >= 1 && value <= 65535 ? [] : ['must be between 1 and 65535, inclusive'];
}

/** The name of a port that a service or probe may refer to (RFC 6335). */
export function portName(value: string): string[] {
  const errors: string[] = [];
  if (value.length > 15) errors.push(maxLengthMessage(15));
  if (!/^[-a-z0-9]+$/.test(value))
    errors.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(value)) errors.push('must contain at least one letter (a-z)');
  if (value.includes('--')) errors.push('must not contain consecutive hyphens');
  if (value.startsWith('-') || value.endsWith('-')) errors.push('must not begin or end with a hyphen');
  return errors;
}

/** A whole number of percent: `25%`. */
export function percent(value: string): string[] {
  return PERCENT.test(value)
    ? []
    : [
        patternMessage(
          "a valid percent string must be a numeric string followed by an ending '%'",
          PERCENT,
          '1%',
          '93%',
        ),
      ];
}

export function httpHeaderName(value: string): string[] {
  return HTTP_HEADER.test(value)
    ? []
    : [
        patternMessage(
          "a valid HTTP header must consist of alphanumeric characters or '-'",
          HTTP_HEADER,
          'X-Header-Name',
        ),
      ];
}

/** The name of an environment variable: printable ASCII without `=`. */
export function envVarName(value: string): string[] {
  if (value === '') return ['environment variable name must be non-empty'];
  return /^[ -<>-~]*$/.test(value)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}

/** The name of an attribute or capacity of a device. */
export function cIdentifier(value: string): string[] {
  return C_IDENTIFIER.test(value)
    ? []
    : [
        patternMessage(
          "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
          C_IDENTIFIER,
          'my_name',
          'MY_NAME',
          'MyName',
        ),
      ];
}

/** A user or group id within the range of Linux. */
export function userId(value: number): string[] {
  return value >= 0 && value <= 2147483647 ? [] : ['must be between 0 and 2147483647, inclusive'];
}

/** Replaces a trailing dash of a name prefix, which is allowed because a suffix follows. */
export function maskTrailingDash(value: string): string {
  return value.length > 1 && value.endsWith('-') ? `${value.slice(0, -2)}a` : value;
}

/** `validateName` hooks for the common kinds of names. */
export function subdomainName(name: string, isPrefix: boolean): readonly string[] {
  return dns1123Subdomain(isPrefix ? maskTrailingDash(name) : name);
}

/** The same for kinds that Kubernetes checks by its newer rules, which count bytes. */
export function longName(name: string, isPrefix: boolean): readonly string[] {
  return dns1123Subdomain(isPrefix ? maskTrailingDash(name) : name, 'bytes');
}

export function labelName(name: string, isPrefix: boolean): readonly string[] {
  return dns1123Label(isPrefix ? maskTrailingDash(name) : name);
}
