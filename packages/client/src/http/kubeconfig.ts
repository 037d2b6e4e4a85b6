import { existsSync, readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { parsePlainBody } from '@gantry/apimachinery';
import { errorMessage } from '@gantry/base';

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

/** Thrown for a kubeconfig that cannot be used. The message names the field; it repeats no value that may be a credential. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
}

/** What a field contains, or the absolute path of the file that contains it. */
export type Material = { readonly field: string } & ({ readonly data: Buffer } | { readonly file: string });

/** The cluster and the user of a context. Nothing that is in other files has been read. */
export interface KubeContext {
  /** `http:` or `https:`, without a slash at the end. */
  readonly server: string;
  readonly serverName?: string | undefined;
  /** Whether any certificate of the server is accepted. */
  readonly insecure: boolean;
  readonly proxyUrl?: string | undefined;
  readonly namespace?: string | undefined;
  readonly ca?: Material | undefined;
  readonly cert?: Material | undefined;
  readonly key?: Material | undefined;
  readonly token?: Material | undefined;
  /** User and password, as `user:password`. */
  readonly basic?: string | undefined;
  /** Headers of the user to act as. */
  readonly impersonation: Readonly<Record<string, string | string[]>>;
  /** A program that prints credentials, and a client of an identity provider. They need a library. */
  readonly exec?: Fields | undefined;
  readonly authProvider?: Fields | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** One file. `title` begins the errors about it. */
interface Source {
  readonly config: Fields;
  readonly folder: string;
  readonly title: string;
}

/** The part of an entry of a list, such as `clusters[0].cluster`. `place` is its name in errors. */
interface Entry {
  readonly fields: Fields;
  readonly folder: string;
  readonly place: string;
}

/** Reads a kubeconfig file; relative paths in it are relative to it. Throws KubeconfigError. */
export function readKubeconfig(file: string, context?: string): HttpTarget {
  return targetOf(readContext([file], context));
}

/** The target of a context; the current one by default. Throws KubeconfigError. */
export function parseKubeconfig(text: string, options: { context?: string; folder?: string } = {}): HttpTarget {
  const source = { config: parseConfig(text, 'kubeconfig'), folder: options.folder ?? '.', title: 'kubeconfig' };
  return targetOf(contextOf([source], options.context));
}

/**
 * A context of one or several kubeconfig files, which are merged as kubectl does: the first file that has a name or a current context counts.
 * Of several files, those that do not exist are skipped. Throws KubeconfigError.
 */
export function readContext(files: readonly string[], context?: string): KubeContext {
  const found = files.length === 1 ? files : files.filter((file) => existsSync(file));
  if (found.length === 0) throw new KubeconfigError(`kubeconfig: none of these files exists: ${files.join(', ')}`);
  const sources = found.map((file) => {
    const title = `kubeconfig: ${file}`;
    return { config: parseConfig(readText(file), title), folder: dirname(file), title };
  });
  return contextOf(sources, context);
}

const ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The account of the pod that this process is in; undefined outside of a cluster, and in a pod without one. */
export function podAccount(env: NodeJS.ProcessEnv, folder = ACCOUNT_FOLDER): KubeContext | undefined {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '' } = env;
  const [token, ca, namespace] = [join(folder, 'token'), join(folder, 'ca.crt'), join(folder, 'namespace')];
  if (host === '' || port === '' || !existsSync(token)) return undefined;
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    insecure: false,
    // Without it, the server must have a certificate of an authority that everybody trusts.
    ca: existsSync(ca) ? { field: 'account of the pod', file: ca } : undefined,
    token: { field: 'account of the pod', file: token },
    namespace: existsSync(namespace) ? readText(namespace).trim() : undefined,
    impersonation: {},
  };
}

/** The bytes of a material. Throws KubeconfigError for a file that cannot be read. */
export function bytesOf(material: Material): Buffer {
  if ('data' in material) return material.data;
  try {
    return readFileSync(material.file);
  } catch (error) {
    throw new KubeconfigError(`${material.field}: ${errorMessage(error)}`);
  }
}

function targetOf({ server, serverName, namespace, ca, cert, key, token }: KubeContext): HttpTarget {
  const read = (material: Material | undefined) => (material === undefined ? undefined : bytesOf(material));
  const text = read(token)?.toString('utf8').trim();
  return { server, ca: read(ca), cert: read(cert), key: read(key), token: text, serverName, namespace };
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new KubeconfigError(`kubeconfig: ${file} cannot be read: ${errorMessage(error)}`);
  }
}

function parseConfig(text: string, title: string): Fields {
  try {
    return asFields(parsePlainBody(Buffer.from(text), 'yaml') ?? {}, title);
  } catch (error) {
    if (error instanceof KubeconfigError) throw error;
    // Without the cause: it may have lines of the file.
    throw new KubeconfigError(`${title}: ${errorMessage(error).split('\n')[0]}`);
  }
}

function contextOf(sources: readonly Source[], wanted: string | undefined): KubeContext {
  const named =
    wanted ?? sources.map(({ config, title }) => textOf({ fields: config, place: title }, 'current-context'));
  const name = typeof named === 'string' ? named : named.find((one) => one !== undefined);
  const title = sources.map((source) => source.title).join(', ');
  if (name === undefined) throw new KubeconfigError(`${title}: current-context: is required`);
  const context = find(sources, 'contexts', 'context', name, title);
  const cluster = find(sources, 'clusters', 'cluster', requiredOf(context, 'cluster'), context.place);
  const userName = textOf(context, 'user');
  const user = userName === undefined ? undefined : find(sources, 'users', 'user', userName, context.place);
  return { ...clusterOf(cluster), ...userOf(user), namespace: textOf(context, 'namespace') };
}

function clusterOf(cluster: Entry): Omit<KubeContext, 'impersonation'> {
  const server = requiredOf(cluster, 'server');
  if (!/^https?:\/\//.test(server) || !URL.canParse(server)) {
    throw new KubeconfigError(`${cluster.place}.server: is no URL: ${server}`);
  }
  return {
    server: server.replace(/\/$/, ''),
    serverName: textOf(cluster, 'tls-server-name'),
    insecure: cluster.fields['insecure-skip-tls-verify'] === true,
    proxyUrl: textOf(cluster, 'proxy-url'),
    ca: materialOf(cluster, 'certificate-authority'),
  };
}

function userOf(user: Entry | undefined): Omit<KubeContext, 'server' | 'insecure'> {
  if (user === undefined) return { impersonation: {} };
  const cert = materialOf(user, 'client-certificate');
  const key = materialOf(user, 'client-key');
  if ((cert === undefined) !== (key === undefined)) {
    const [missing, other] = key === undefined ? ['key', 'certificate'] : ['certificate', 'key'];
    throw new KubeconfigError(`${user.place}.client-${missing}: is required with client-${other}`);
  }
  const name = textOf(user, 'username');
  return {
    cert,
    key,
    token: tokenOf(user),
    basic: name === undefined ? undefined : `${name}:${textOf(user, 'password') ?? ''}`,
    impersonation: impersonationOf(user),
    exec: mappingOf(user, 'exec'),
    authProvider: mappingOf(user, 'auth-provider'),
  };
}

/** A file counts before the field, as in kubectl. */
function tokenOf(user: Entry): Material | undefined {
  const file = textOf(user, 'tokenFile');
  if (file !== undefined) return { field: `${user.place}.tokenFile`, file: resolve(user.folder, file) };
  const token = textOf(user, 'token');
  return token === undefined ? undefined : { field: `${user.place}.token`, data: Buffer.from(token) };
}

function impersonationOf(user: Entry): KubeContext['impersonation'] {
  const headers: Record<string, string | string[]> = {};
  for (const [field, header] of [
    ['as', 'Impersonate-User'],
    ['as-uid', 'Impersonate-Uid'],
  ] as const) {
    const text = textOf(user, field);
    if (text !== undefined) headers[header] = text;
  }
  const groups = user.fields['as-groups'];
  if (isPresent(groups)) headers['Impersonate-Group'] = textsOf(groups, `${user.place}.as-groups`);
  for (const [name, values] of Object.entries(mappingOf(user, 'as-user-extra') ?? {})) {
    const header = `Impersonate-Extra-${encodeURIComponent(name).replace(/[()]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)}`;
    headers[header] = textsOf(values, `${user.place}.as-user-extra.${name}`);
  }
  return headers;
}

function find(sources: readonly Source[], list: string, part: string, name: string, from: string): Entry {
  for (const { config, folder, title } of sources) {
    const entries = config[list] ?? [];
    if (!Array.isArray(entries)) throw new KubeconfigError(`${title}: ${list}: must be a list`);
    const named = (entries as unknown[]).filter((entry) => isFields(entry) && entry['name'] === name) as Fields[];
    const place = `${title}: ${list}[${name}]`;
    if (named.length > 1) throw new KubeconfigError(`${place}: two have this name`);
    const [found] = named;
    if (found !== undefined)
      return { fields: asFields(found[part] ?? {}, `${place}.${part}`), folder, place: `${place}.${part}` };
  }
  throw new KubeconfigError(`${from}: no ${part} named ${JSON.stringify(name)}`);
}

/** `<name>-data` in base64, or the file that `<name>` names. */
function materialOf(entry: Entry, name: string): Material | undefined {
  const data = textOf(entry, `${name}-data`);
  if (data !== undefined) {
    const field = `${entry.place}.${name}-data`;
    if (!/^[A-Za-z0-9+/\s]+=*\s*$/.test(data)) throw new KubeconfigError(`${field}: is not base64`);
    return { field, data: Buffer.from(data, 'base64') };
  }
  const file = textOf(entry, name);
  return file === undefined ? undefined : { field: `${entry.place}.${name}`, file: resolve(entry.folder, file) };
}

function requiredOf(entry: Entry, name: string): string {
  const text = textOf(entry, name);
  if (text === undefined) throw new KubeconfigError(`${entry.place}.${name}: is required`);
  return text;
}

function textOf({ fields, place }: Pick<Entry, 'fields' | 'place'>, name: string): string | undefined {
  const value = fields[name];
  if (!isPresent(value)) return undefined;
  if (typeof value !== 'string') throw new KubeconfigError(`${place}.${name}: must be a string`);
  return value;
}

function mappingOf({ fields, place }: Entry, name: string): Fields | undefined {
  const value = fields[name];
  return isPresent(value) ? asFields(value, `${place}.${name}`) : undefined;
}

function textsOf(value: unknown, place: string): string[] {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw new KubeconfigError(`${place}: must be a list of strings`);
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

function isFields(value: unknown): value is Fields {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function asFields(value: unknown, place: string): Fields {
  if (!isFields(value)) throw new KubeconfigError(`${place}: must be a mapping`);
  return value;
}
