import type { Clock, Instant } from '@gantry/base';
import type { Pod, ResourceRef, ServiceAccountTokenProjection, TokenRequest } from '@gantry/api';
import type { ObjectWriter } from '@gantry/client';

const SERVICE_ACCOUNTS: ResourceRef = { group: '', version: 'v1', resource: 'serviceaccounts' };
const DEFAULT_SECONDS = 3600;

interface KeptToken {
  readonly token: string;
  readonly renewAt: Instant;
}

/** Tokens of pods' service accounts, bound to the pod and renewed at 80 % of their life. */
export class TokenSource {
  readonly #client: ObjectWriter;
  readonly #clock: Clock;
  readonly #tokens = new Map<string, KeptToken>();

  constructor(client: ObjectWriter, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  async token(pod: Pod, projection: ServiceAccountTokenProjection, signal: AbortSignal): Promise<string> {
    const { audience, expirationSeconds = DEFAULT_SECONDS } = projection;
    const { uid = '', name = '', namespace = '' } = pod.metadata;
    const key = `${uid}/${audience ?? ''}/${expirationSeconds}`;
    const kept = this.#tokens.get(key);
    if (kept !== undefined && this.#clock.now() < kept.renewAt) return kept.token;
    const request: TokenRequest = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: {},
      spec: {
        audiences: audience === undefined || audience === '' ? [] : [audience],
        expirationSeconds,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
      },
    };
    const answer = await this.#client.write<TokenRequest>(
      {
        verb: 'create',
        resource: SERVICE_ACCOUNTS,
        namespace,
        name: pod.spec?.serviceAccountName ?? 'default',
        subresource: 'token',
        object: request,
      },
      signal,
    );
    const now = this.#clock.now();
    const expires = Date.parse(answer.status?.expirationTimestamp ?? '') || now + expirationSeconds * 1000;
    const token = answer.status?.token ?? '';
    this.#tokens.set(key, { token, renewAt: now + (expires - now) * 0.8 });
    return token;
  }

  forget(podUid: string): void {
    for (const key of this.#tokens.keys()) if (key.startsWith(`${podUid}/`)) this.#tokens.delete(key);
  }
}
