import { Agent as HttpAgent } from 'node:http';
import type { AgentOptions, RequestOptions } from 'node:https';
import { createSecureContext } from 'node:tls';
import { type Clock, errorMessage } from '@gantry/base';
import { bytesOf, type Dialled, type KubeContext, KubeconfigError, type Material } from '@gantry/client';
import { createHttpsAgent } from '@gantry/tls';

/** Connections to the server of a context, with the credentials of its user. */
export interface Credentials extends Disposable {
  /** For each request. Rejects or throws when there are no credentials. */
  dial(): Dialled | Promise<Dialled>;
  /** The server has answered 401: what was read may have expired. */
  refused(): void;
}

/** Throws KubeconfigError, which names the field, for a file that cannot be read and for certificates that cannot be used. */
export function createCredentials(context: KubeContext, clock: Clock): Credentials {
  const { exec, authProvider, proxyUrl } = context;
  const isPlain = exec === undefined && authProvider === undefined && proxyUrl === undefined;
  return isPlain ? new PlainCredentials(context, clock) : new LibraryCredentials(context);
}

/** As in client-go. The kubelet renews the token of a pod when a fifth of its time is left, 2 minutes at least. */
const READ_AGAIN_MS = 60_000;

interface Pems {
  readonly ca: Buffer | undefined;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
}

/**
 * Certificates and tokens from the kubeconfig or from files, which are read again after a minute and when the server refuses them. While a file
 * cannot be read, the last credentials are used, until the server refuses them.
 */
class PlainCredentials implements Credentials {
  readonly #context: KubeContext;
  readonly #clock: Clock;
  readonly #hasFiles: boolean;
  #pems: Pems = { ca: undefined, cert: undefined, key: undefined };
  #dialled: Dialled;
  #readAgainMs: number;
  #state: 'good' | 'refused' = 'good';

  constructor(context: KubeContext, clock: Clock) {
    this.#context = context;
    this.#clock = clock;
    const { ca, cert, key, token } = context;
    this.#hasFiles = [ca, cert, key, token].some((material) => material !== undefined && 'file' in material);
    this.#dialled = this.#read();
    this.#readAgainMs = clock.monotonicMs() + READ_AGAIN_MS;
  }

  dial(): Dialled {
    if (!this.#hasFiles || this.#clock.monotonicMs() < this.#readAgainMs) return this.#dialled;
    try {
      this.#dialled = this.#read(this.#dialled.agent);
      this.#readAgainMs = this.#clock.monotonicMs() + READ_AGAIN_MS;
      this.#state = 'good';
    } catch (error) {
      if (this.#state === 'refused') throw error;
    }
    return this.#dialled;
  }

  refused(): void {
    this.#state = 'refused';
    this.#readAgainMs = Number.NEGATIVE_INFINITY;
  }

  [Symbol.dispose](): void {
    this.#dialled.agent.destroy();
  }

  /** `agent` is used for the same certificates as before. */
  #read(agent?: HttpAgent): Dialled {
    const { ca, cert, key, token, basic, impersonation } = this.#context;
    const read = (material: Material | undefined) => (material === undefined ? undefined : bytesOf(material));
    const pems = { ca: read(ca), cert: read(cert), key: read(key) };
    const headers: Record<string, string | string[]> = { ...impersonation };
    if (token !== undefined) headers['authorization'] = `Bearer ${tokenOf(token)}`;
    const kept = agent !== undefined && isSame(pems, this.#pems) ? agent : agentOf(this.#context, pems);
    this.#pems = pems;
    return {
      agent: kept,
      headers,
      ...(basic === undefined ? {} : { auth: basic }),
    };
  }
}

function tokenOf(material: Material): string {
  const token = bytesOf(material).toString('utf8').trim();
  if (token === '') throw new KubeconfigError(`${material.field}: is empty`);
  return token;
}

function isSame(left: Pems, right: Pems): boolean {
  return (['ca', 'cert', 'key'] as const).every(
    (name) => left[name]?.equals(right[name] ?? Buffer.of()) ?? right[name] === undefined,
  );
}

/** Certificates and key are parsed once, not for each connection. */
function agentOf({ server, serverName, insecure, ca, cert, key }: KubeContext, pems: Pems): HttpAgent {
  if (server.startsWith('http:')) return new HttpAgent({ keepAlive: true });
  // Node.js ignores what is no certificate, and then trusts no server.
  if (pems.ca?.includes('-----BEGIN ') === false) throw new KubeconfigError(`${ca?.field}: is no certificate in PEM`);
  try {
    const secureContext = createSecureContext(pems);
    return createHttpsAgent({
      secureContext,
      servername: serverName,
      rejectUnauthorized: !insecure,
      maxCachedSessions: 10,
    });
  } catch (error) {
    const fields = [cert, key].flatMap((material) => (material === undefined ? [] : [material.field]));
    throw new KubeconfigError(`${fields.join(' and ')}: ${errorMessage(error)}`);
  }
}

type AgentMaterial = Pick<
  AgentOptions,
  'ca' | 'cert' | 'key' | 'passphrase' | 'pfx' | 'rejectUnauthorized' | 'servername'
>;

/**
 * Credentials of exec plugins and identity providers, and connections through a proxy, by `@kubernetes/client-node`. It loads the generated API
 * of all kinds (0.4 s of CPU, 80 MiB), so it is loaded at the first request that needs it. It makes agents that close each connection after its
 * request, so connections are kept by agents of our own, one for each set of certificates, except through a proxy, whose protocol the library's
 * agent speaks.
 */
class LibraryCredentials implements Credentials {
  readonly #context: KubeContext;
  #config: Promise<HttpsOptionsSource> | undefined;
  #kept: { readonly agent: HttpAgent; readonly material: AgentMaterial } | undefined;
  #asked: Promise<RequestOptions> | undefined;

  constructor(context: KubeContext) {
    this.#context = context;
  }

  async dial(): Promise<Dialled> {
    // Requests that start together share one run of an exec plugin.
    this.#asked ??= this.#ask().finally(() => (this.#asked = undefined));
    const options = await this.#asked;
    const { auth } = options;
    const headers = { ...this.#context.impersonation, ...textsOf(options.headers) };
    return { agent: this.#agentOf(options), headers, ...(typeof auth === 'string' ? { auth } : {}) };
  }

  refused(): void {
    // The library renews what has expired.
  }

  [Symbol.dispose](): void {
    this.#kept?.agent.destroy();
  }

  async #ask(): Promise<RequestOptions> {
    this.#config ??= loadConfig(this.#context);
    const options: RequestOptions = {};
    await (await this.#config).applyToHTTPSOptions(options);
    return options;
  }

  #agentOf(options: RequestOptions): HttpAgent {
    const { server, proxyUrl } = this.#context;
    if (proxyUrl !== undefined) return options.agent as HttpAgent;
    const { ca, cert, key, passphrase, pfx, rejectUnauthorized, servername } = options;
    const material = { ca, cert, key, passphrase, pfx, rejectUnauthorized, servername };
    if (this.#kept === undefined || !isSameMaterial(this.#kept.material, material)) {
      const agent = server.startsWith('http:')
        ? new HttpAgent({ keepAlive: true })
        : createHttpsAgent({ ...material, maxCachedSessions: 10 });
      this.#kept = { agent, material };
    }
    return this.#kept.agent;
  }
}

interface HttpsOptionsSource {
  applyToHTTPSOptions(options: RequestOptions): Promise<void>;
}

async function loadConfig(context: KubeContext): Promise<HttpsOptionsSource> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const { server, serverName, insecure, proxyUrl, ca, cert, key, token, basic, exec, authProvider } = context;
  const [username, password] = basic === undefined ? [] : split(basic);
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    {
      name: 'cluster',
      server,
      skipTLSVerify: insecure,
      ...(serverName === undefined ? {} : { tlsServerName: serverName }),
      ...(proxyUrl === undefined ? {} : { proxyUrl }),
      ...of(ca, 'caData', 'caFile'),
    },
    {
      name: 'user',
      ...of(cert, 'certData', 'certFile'),
      ...of(key, 'keyData', 'keyFile'),
      ...(token === undefined ? {} : 'data' in token ? { token: token.data.toString('utf8') } : tokenFile(token.file)),
      ...(username === undefined ? {} : { username, password }),
      ...(exec === undefined ? {} : { exec }),
      ...(authProvider === undefined ? {} : { authProvider }),
    },
  );
  return config;
}

function of(material: Material | undefined, data: string, file: string): object {
  if (material === undefined) return {};
  return 'data' in material ? { [data]: material.data.toString('base64') } : { [file]: material.file };
}

function tokenFile(file: string): object {
  return { authProvider: { name: 'tokenFile', config: { tokenFile: file } } };
}

function split(basic: string): readonly [string, string] {
  const colon = basic.indexOf(':');
  return [basic.slice(0, colon), basic.slice(colon + 1)];
}

function isSameMaterial(left: AgentMaterial, right: AgentMaterial): boolean {
  return (Object.keys(left) as (keyof AgentMaterial)[]).every((name) => String(left[name]) === String(right[name]));
}

function textsOf(headers: RequestOptions['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}
