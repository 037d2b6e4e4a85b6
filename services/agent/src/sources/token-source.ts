import type { Clock, Instant } from '@gantry/base';
import { type Pod, SERVICE_ACCOUNTS, type ServiceAccountTokenProjection, type TokenRequest } from '@gantry/objects';
import type { SubresourceWriter } from '@gantry/client';

const DEFAULT_SECONDS = 3600;

interface CachedToken {
  readonly token: string;
  readonly renewAt: Instant;
}

/** Tokens of pods' service accounts. They are bound to the pod and renewed after 80% of their lifetime. */
export class TokenSource {
  readonly #client: SubresourceWriter;
  readonly #clock: Clock;
  readonly #tokens = new Map<string, CachedToken>();

  constructor(client: SubresourceWriter, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  async token(pod: Pod, projection: ServiceAccountTokenProjection, signal: AbortSignal): Promise<string> {
    const { audience, expirationSeconds = DEFAULT_SECONDS } = projection;
    const { uid = '', name = '', namespace = '' } = pod.metadata;
    const key = `${uid}/${audience ?? ''}/${expirationSeconds}`;
    const cached = this.#tokens.get(key);
    if (cached !== undefined && this.#clock.now() < cached.renewAt) return cached.token;
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
    const account = { namespace, name: pod.spec?.serviceAccountName ?? 'default', subresource: 'token' };
    const response = await this.#client.createSubresource(SERVICE_ACCOUNTS, account, request, signal);
    const now = this.#clock.now();
    const expires = Date.parse(response.status?.expirationTimestamp ?? '') || now + expirationSeconds * 1000;
    const token = response.status?.token ?? '';
    this.#tokens.set(key, { token, renewAt: now + (expires - now) * 0.8 });
    return token;
  }

  forget(podUid: string): void {
    for (const key of this.#tokens.keys()) if (key.startsWith(`${podUid}/`)) this.#tokens.delete(key);
  }
}
