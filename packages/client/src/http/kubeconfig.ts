import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { errorMessage } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import { parse } from 'yaml';

/** The address of a cluster and the credentials of the client, from a kubeconfig's context. */
export interface HttpTarget {
  /** `https://host:port`, with a path if the API has one. */
  readonly server: string;
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly token?: string;
  /** The name that the server's certificate must have, if it differs from the address. */
  readonly serverName?: string;
  readonly namespace?: string;
}

interface NamedEntry {
  readonly name?: unknown;
  readonly [part: string]: unknown;
}
type Fields = Readonly<Record<string, unknown>>;

/** Reads a kubeconfig file; relative paths in it are relative to it. */
export function readKubeconfig(file: string, context?: string): HttpTarget {
  return parseKubeconfig(readFileSync(file, 'utf8'), { context, folder: dirname(file) });
}

/**
 * The target of a context; the current one by default. Throws StatusError BadRequest that names a missing entry, or the line that is not
 * YAML.
 */
export function parseKubeconfig(text: string, options: { context?: string; folder?: string } = {}): HttpTarget {
  const config = asFields(parseYaml(text), 'kubeconfig');
  const contextName = options.context ?? config['current-context'];
  const context = find(config, 'contexts', contextName, 'context');
  const cluster = find(config, 'clusters', context['cluster'], 'cluster');
  const user = find(config, 'users', context['user'], 'user');
  const folder = options.folder ?? '.';
  const server = textOf(cluster, 'server');
  if (server === undefined) throw StatusError.badRequest('kubeconfig: the cluster has no server');
  const ca = bytes(cluster, 'certificate-authority', folder);
  const cert = bytes(user, 'client-certificate', folder);
  const key = bytes(user, 'client-key', folder);
  const tokenFile = textOf(user, 'tokenFile');
  const token =
    textOf(user, 'token') ??
    (tokenFile === undefined ? undefined : readFileSync(resolve(folder, tokenFile), 'utf8').trim());
  const serverName = textOf(cluster, 'tls-server-name');
  const namespace = textOf(context, 'namespace');
  return { server: server.replace(/\/$/, ''), ca, cert, key, token, serverName, namespace };
}

function asFields(value: unknown, what: string): Fields {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw StatusError.badRequest(`kubeconfig: ${what} is not a mapping`);
  }
  return value as Fields;
}

/** The parser's message goes on with lines of the file, which may contain credentials. */
function parseYaml(text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    const [reason] = errorMessage(error).split('\n');
    throw StatusError.badRequest(`kubeconfig: ${reason}`);
  }
}

function find(config: Fields, list: string, name: unknown, part: string): Fields {
  const entries = config[list];
  const found = Array.isArray(entries)
    ? (entries as NamedEntry[]).find((entry) => entry !== null && typeof entry === 'object' && entry.name === name)
    : undefined;
  if (found === undefined) throw StatusError.badRequest(`kubeconfig: no ${part} named ${JSON.stringify(name)}`);
  return asFields(found[part] ?? {}, `${part} ${JSON.stringify(name)}`);
}

function textOf(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** `<name>-data` in base64, or the file that `<name>` names. */
function bytes(fields: Fields, name: string, folder: string): Buffer | undefined {
  const data = textOf(fields, `${name}-data`);
  if (data !== undefined) return Buffer.from(data, 'base64');
  const file = textOf(fields, name);
  return file === undefined ? undefined : readFileSync(resolve(folder, file));
}
