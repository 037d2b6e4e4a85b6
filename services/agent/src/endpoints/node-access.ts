import { type Clock, raceAbort, withDeadline } from '@gantry/base';
import { API_SERVERS, type Resource, type SubjectAccessReview, type TokenReview, type UserInfo } from '@gantry/objects';
import type { ObjectClient } from '@gantry/client';
import type { PeerIdentity } from '@gantry/service';
import { nodeRequest } from './request-attributes.ts';

const TOKEN_REVIEWS: Resource<TokenReview> = {
  group: 'authentication.k8s.io',
  version: 'v1',
  resource: 'tokenreviews',
  kind: 'TokenReview',
  namespaced: false,
};
const ACCESS_REVIEWS: Resource<SubjectAccessReview> = {
  group: 'authorization.k8s.io',
  version: 'v1',
  resource: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
};

/** The kubelet's defaults for `cacheTTL` of tokens, `cacheAuthorizedTTL` and `cacheUnauthorizedTTL`. */
const TOKEN_MS = 120_000;
const ALLOWED_MS = 300_000;
const DENIED_MS = 30_000;
const MAX_CACHED = 1000;
const LOOKUP_MS = 10_000;

/** The parts of a request that access depends on. */
export interface AccessRequest {
  readonly method: string;
  readonly path: string;
  /** The identity from a client certificate that is currently valid. */
  readonly certificate: PeerIdentity | undefined;
  readonly token: string | undefined;
}

/** `unauthenticated`: respond with 401. `refused`: respond with 403 and this reason. */
export type Access = 'allowed' | 'unauthenticated' | { readonly refused: string };

export interface NodeAccessOptions {
  readonly client: Pick<ObjectClient, 'create'>;
  readonly node: string;
  readonly clock: Clock;
}

/**
 * Decides who may use the node's endpoints. API servers may use all, since they have authorised their clients. For other clients, the API
 * server is asked, like in the kubelet's webhook mode; results are cached as long as in the kubelet.
 */
export class NodeAccess {
  readonly #options: NodeAccessOptions;
  readonly #tokens: ExpiringMap<UserInfo | undefined>;
  readonly #verdicts: ExpiringMap<boolean>;

  constructor(options: NodeAccessOptions) {
    this.#options = options;
    this.#tokens = new ExpiringMap(options.clock);
    this.#verdicts = new ExpiringMap(options.clock);
  }

  async check(request: AccessRequest, signal: AbortSignal): Promise<Access> {
    const { certificate } = request;
    if (certificate?.organizations.includes(API_SERVERS) === true) return 'allowed';
    const user = await this.#user(request, signal);
    if (user === undefined) return 'unauthenticated';
    const { verb, subresources } = nodeRequest(request.method, request.path);
    for (const subresource of subresources) {
      if (await this.#isAllowed(user, verb, subresource, signal)) return 'allowed';
    }
    const what = `verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(' ')}]`;
    return { refused: `Forbidden (user=${user.username ?? ''}, ${what})\n` };
  }

  async #user({ certificate, token }: AccessRequest, signal: AbortSignal): Promise<UserInfo | undefined> {
    if (certificate !== undefined) {
      const groups = [...certificate.organizations, 'system:authenticated'];
      return { username: certificate.commonName, groups };
    }
    if (token === undefined || token === '') return undefined;
    const lookUp: Lookup<UserInfo | undefined> = async (deadline) => {
      const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', metadata: {}, spec: { token } };
      const { status } = await this.#options.client.create(TOKEN_REVIEWS, review, deadline);
      return { value: status?.authenticated === true ? status.user : undefined, forMs: TOKEN_MS };
    };
    return await this.#tokens.get(token, lookUp, signal);
  }

  async #isAllowed(user: UserInfo, verb: string, subresource: string, signal: AbortSignal): Promise<boolean> {
    const { client, node } = this.#options;
    const { username = '', groups = [], uid, extra } = user;
    const spec = {
      user: username,
      groups,
      uid,
      extra,
      resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name: node },
    };
    const lookUp: Lookup<boolean> = async (deadline) => {
      const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', metadata: {}, spec };
      const { status } = await client.create(ACCESS_REVIEWS, review, deadline);
      const value = status?.allowed === true;
      return { value, forMs: value ? ALLOWED_MS : DENIED_MS };
    };
    return await this.#verdicts.get(JSON.stringify(spec), lookUp, signal);
  }
}

type Lookup<T> = (signal: AbortSignal) => Promise<{ readonly value: T; readonly forMs: number }>;

/**
 * A cache with expiry; when it is full, the oldest value is dropped. Requests during a lookup share it, and it continues when their
 * clients leave. Failures are not cached.
 */
class ExpiringMap<T> {
  readonly #clock: Clock;
  readonly #entries = new Map<string, { readonly value: T; readonly until: number }>();
  readonly #lookups = new Map<string, Promise<T>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async get(key: string, lookup: Lookup<T>, signal: AbortSignal): Promise<T> {
    const known = this.#entries.get(key);
    if (known !== undefined && known.until > this.#clock.monotonicMs()) return known.value;
    let running = this.#lookups.get(key);
    if (running === undefined) {
      running = this.#lookUp(key, lookup).finally(() => this.#lookups.delete(key));
      this.#lookups.set(key, running);
    }
    return await raceAbort(running, signal);
  }

  async #lookUp(key: string, lookup: Lookup<T>): Promise<T> {
    using deadline = withDeadline(this.#clock, new AbortController().signal, LOOKUP_MS);
    const { value, forMs } = await lookup(deadline);
    this.#entries.delete(key);
    this.#entries.set(key, { value, until: this.#clock.monotonicMs() + forMs });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > MAX_CACHED && oldest !== undefined) this.#entries.delete(oldest);
    return value;
  }
}
