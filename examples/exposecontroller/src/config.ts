import { parse, YAMLParseError } from 'yaml';
import { z } from 'zod';

const DOMAIN = z.string().regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'must be a DNS name');
const FLAG = z.union([z.boolean(), z.stringbool()]).default(false);
const PLACEHOLDER = /\{\{\s*\.(Service|Namespace|Domain)\s*\}\}/g;

/** `config.yml`, with the keys of the original. */
const CONFIG = z.strictObject({
  domain: DOMAIN,
  'internal-domain': DOMAIN.optional(),
  exposer: z
    .string()
    .regex(/^(ingress)?$/i, 'only Ingress is supported')
    .default(''),
  'path-mode': z.enum(['', 'path']).default(''),
  http: FLAG,
  'tls-acme': FLAG,
  'tls-secret-name': z.string().default(''),
  'tls-use-wildcard': FLAG,
  urltemplate: z
    .string()
    .refine((text) => !text.replace(PLACEHOLDER, '').includes('{{'), 'knows only .Service, .Namespace and .Domain')
    .default('{{.Service}}.{{.Namespace}}.{{.Domain}}'),
  'ingress-class': z.string().default(''),
  services: z.array(z.string()).default([]),
  apiserver: z.string().default(''),
  'apiserver-protocol': z.enum(['http', 'https']).default('https'),
  'console-url': z.string().default(''),
  'watch-current-namespace': FLAG.default(true),
  'watch-namespaces': z.string().default(''),
});
export type Config = z.output<typeof CONFIG>;

/** Thrown for a configuration that cannot be used; the message names the key. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Reads `config.yml`. Throws ConfigError. */
export function parseConfig(text: string): Config {
  const parsed = CONFIG.safeParse(read(text));
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) => [...path, message].join(': '));
  throw new ConfigError(`config.yml: ${faults.join('; ')}`);
}

function read(text: string): unknown {
  try {
    return parse(text) ?? {};
  } catch (error) {
    if (error instanceof YAMLParseError) throw new ConfigError(`config.yml: ${error.message}`);
    throw error;
  }
}

/** The name of a host: the template with its three placeholders filled in. */
export function hostOf({ urltemplate }: Config, service: string, namespace: string, domain: string): string {
  const values: Readonly<Record<string, string>> = { Service: service, Namespace: namespace, Domain: domain };
  return urltemplate.replace(PLACEHOLDER, (_, name: string) => values[name] ?? '');
}
