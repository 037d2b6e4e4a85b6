/**
 * Selects the credentials for an image by the kubelet's rules (pkg/credentialprovider/keyring.go): order, wildcards in host names
 * and path prefixes.
 */
import { createHash } from 'node:crypto';
import { DOCKER_CONFIG_SECRET, OLD_DOCKER_CONFIG_SECRET, type Secret } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { RegistryCredential } from '../runtime/images.ts';
import { repositoryOf } from './image-name.ts';

/** A credential, and the Secret that it comes from. */
export interface PullCredential extends RegistryCredential {
  readonly secret: { readonly uid: string; readonly namespace: string; readonly name: string };
  /** Equal for equal credentials; does not reveal them. */
  readonly hash: string;
}

interface Entry {
  /** A host, perhaps with wildcards and a port, and a path prefix. */
  readonly key: string;
  readonly credential: PullCredential;
}

const DEFAULT_KEY = 'index.docker.io';
const FIELDS: Readonly<Record<string, string>> = {
  [DOCKER_CONFIG_SECRET]: '.dockerconfigjson',
  [OLD_DOCKER_CONFIG_SECRET]: '.dockercfg',
};

/**
 * The credentials for an image, in the order in which to try them; empty without any. AgentError 'ErrImagePull' for a Secret that
 * cannot be read; the message contains nothing of the Secret's content.
 */
export function credentialsFor(image: string, secrets: readonly Secret[]): readonly PullCredential[] {
  const repository = repositoryOf(image);
  const entries = secrets
    .flatMap(entriesOf)
    .sort((one, other) => (one.key === other.key ? 0 : one.key < other.key ? 1 : -1));
  const matching = entries.filter(({ key }) => matches(key, repository));
  const fallback = repository.startsWith('docker.io/') ? entries.filter(({ key }) => key === DEFAULT_KEY) : [];
  return (matching.length > 0 ? matching : fallback).map(({ credential }) => credential);
}

function entriesOf(secret: Secret): readonly Entry[] {
  const field = FIELDS[secret.type ?? ''];
  const data = field === undefined ? undefined : secret.data?.[field];
  if (field === undefined || data === undefined || data === '') return [];
  const { uid = '', namespace = '', name = '' } = secret.metadata;
  const unreadable = () =>
    new AgentError(
      'ErrImagePull',
      `Secret ${namespace}/${name}: ${field} does not contain registry credentials in JSON`,
    );
  const content = parseJson(Buffer.from(data, 'base64').toString());
  const auths = field === '.dockercfg' ? content : isRecord(content) ? (content['auths'] ?? {}) : undefined;
  if (!isRecord(auths)) throw unreadable();
  return Object.entries(auths).map(([location, value]) => {
    if (!isRecord(value)) throw unreadable();
    const [username, password] = loginOf(value, unreadable);
    const hash = createHash('sha256')
      .update(JSON.stringify([username, password]))
      .digest('hex');
    return { key: keyOf(location), credential: { username, password, secret: { uid, namespace, name }, hash } };
  });
}

/** `auth` is base64 of `user:password`, and takes precedence over the other two fields. */
function loginOf(value: Readonly<Record<string, unknown>>, unreadable: () => AgentError): readonly [string, string] {
  const text = (field: string) => {
    const found = value[field] ?? '';
    if (typeof found !== 'string') throw unreadable();
    return found;
  };
  const auth = text('auth').trim();
  if (auth === '') return [text('username'), text('password')];
  const decoded = /^(.*?):(.*)$/s.exec(Buffer.from(auth, 'base64').toString());
  if (decoded === null) throw unreadable();
  // Some writers pad the password with zero bytes.
  return [decoded[1] ?? '', (decoded[2] ?? '').replace(/\0+$/, '')];
}

/** `https://host/v1/` and `host` are the same; any other path is kept. */
function keyOf(location: string): string {
  const [host = '', path = ''] = splitHost(location.replace(/^https?:\/\//, ''));
  const rest = /^\/v[12]\//.test(path) ? path.slice(3) : path;
  return rest === '' || rest === '/' ? host : host + rest;
}

function splitHost(location: string): readonly [host: string, path: string] {
  const slash = location.indexOf('/');
  return slash < 0 ? [location, ''] : [location.slice(0, slash), location.slice(slash)];
}

function matches(key: string, repository: string): boolean {
  const [wanted, prefix] = splitHost(key);
  const [found, path] = splitHost(repository);
  const [wantedHost = '', wantedPort] = wanted.split(':');
  const [foundHost = '', foundPort] = found.split(':');
  const globs = wantedHost.split('.');
  const parts = foundHost.split('.');
  if (wantedPort !== foundPort || globs.length !== parts.length || !path.startsWith(prefix)) return false;
  return globs.every((glob, index) => globMatches(glob, parts[index] ?? ''));
}

/** One part of a host name: `*` is any text, `?` any character. */
function globMatches(glob: string, part: string): boolean {
  let [at, from, star, resume] = [0, 0, -1, 0];
  while (from < part.length) {
    if (at < glob.length && glob[at] === '*') [star, resume] = [at++, from];
    else if (at < glob.length && (glob[at] === '?' || glob[at] === part[from])) [at, from] = [at + 1, from + 1];
    // Let the last `*` take one more character. Backtracking to an earlier `*` is not needed, since everything before the last
    // one has matched.
    else if (star >= 0) [at, resume, from] = [star + 1, resume + 1, resume + 1];
    else return false;
  }
  return /^\**$/.test(glob.slice(at));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller reports the failure without quoting the text.
    return undefined;
  }
}
