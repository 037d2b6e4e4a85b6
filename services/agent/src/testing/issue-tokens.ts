import { type Clock, formatTime } from '@gantry/base';
import type { ObjectClient } from '@gantry/client';
import type { FakeObjectClient } from '@gantry/client/testing';
import type { TokenRequest } from '@gantry/objects';

/** Issues service account tokens in place of an API server: `token 1`, `token 2` and so on, each for the requested time. */
export class TokenIssuer {
  #issued = 0;

  get issued(): number {
    return this.#issued;
  }

  /** Returns a client whose tokens are issued here. `clock` gives the time of issue. */
  wrap(client: FakeObjectClient, clock: () => Clock): ObjectClient {
    return new Proxy(client, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (name !== 'createSubresource') return typeof value === 'function' ? value.bind(target) : value;
        return async (_resource: unknown, _target: unknown, { spec }: TokenRequest) => this.#issue(spec, clock());
      },
    });
  }

  #issue(spec: TokenRequest['spec'], clock: Clock): TokenRequest {
    this.#issued += 1;
    const expirationTimestamp = formatTime(clock.now() + (spec?.expirationSeconds ?? 0) * 1000);
    return {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: {},
      spec: spec ?? { audiences: [] },
      status: { token: `token ${this.#issued}`, expirationTimestamp },
    };
  }
}
