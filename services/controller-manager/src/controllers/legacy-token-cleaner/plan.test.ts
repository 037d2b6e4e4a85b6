import { readFileSync } from 'node:fs';
import type { Pod, Secret, ServiceAccount } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { INTERVAL_MS, type ObservedToken, planTokenCleanup } from './plan.ts';

interface Case {
  readonly name: string;
  readonly created?: string;
  readonly lastUsed?: string;
  readonly invalidSince?: string;
  readonly deleting?: boolean;
  /** The uid of its account, as the Secret has it. */
  readonly uid?: string;
  /** When absent, there is an account that lists the Secret. When null, there is no account. */
  readonly account?: { readonly uid: string; readonly secrets?: readonly string[] } | null;
  /** When null, there is no ConfigMap. */
  readonly trackedSince?: string | null;
  /** The Secret that a pod mounts. */
  readonly podSecret?: string;
  /** `later` means that it is looked at again after the interval. */
  readonly want: 'nothing' | 'later' | 'markInvalid' | 'delete';
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];
const NOW = Date.parse('2026-01-01T12:00:00Z');
const LAST_USED = 'kubernetes.io/legacy-token-last-used';
const INVALID_SINCE = 'kubernetes.io/legacy-token-invalid-since';

function secretOf({ created = '2020-01-01T00:00:00Z', lastUsed, invalidSince, deleting, uid = 'first' }: Case): Secret {
  const labels = {
    ...(lastUsed === undefined ? {} : { [LAST_USED]: lastUsed }),
    ...(invalidSince === undefined ? {} : { [INVALID_SINCE]: invalidSince }),
  };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/service-account-token',
    metadata: {
      name: 'tok',
      namespace: 'a',
      labels,
      annotations: { 'kubernetes.io/service-account.name': 'bot', 'kubernetes.io/service-account.uid': uid },
      ...(created === '' ? {} : { creationTimestamp: created }),
      ...(deleting === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
  };
}

function accountOf({ account = { uid: 'first', secrets: ['other', 'tok'] } }: Case): ServiceAccount | undefined {
  if (account === null) return undefined;
  const { uid, secrets } = account;
  const list = secrets === undefined ? {} : { secrets: secrets.map((name) => ({ name })) };
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'bot', namespace: 'a', uid }, ...list };
}

function podOf(secretName: string): Pod {
  const volumes = [{ name: 'token', secret: { secretName } }];
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'a' }, spec: { containers: [], volumes } };
}

describe('a token', () => {
  it.each(CASES)('$name', (one) => {
    const { trackedSince = '2020-01-01', podSecret } = one;
    const observed: ObservedToken = {
      secret: secretOf(one),
      account: accountOf(one),
      pods: podSecret === undefined ? [] : [podOf(podSecret)],
      trackedSince: trackedSince ?? undefined,
    };
    const { actions, requeueAt } = planTokenCleanup(observed, NOW);
    expect(actions.map(({ kind }) => kind)).toEqual(one.want === 'nothing' || one.want === 'later' ? [] : [one.want]);
    expect(requeueAt).toBe(one.want === 'later' ? NOW + INTERVAL_MS : undefined);
    const [action] = actions;
    if (action?.kind !== 'markInvalid') return;
    expect(action.day).toBe('2026-01-01');
    // After that, nothing more is planned until the interval has passed.
    const secret = secretOf({ ...one, invalidSince: action.day });
    expect(planTokenCleanup({ ...observed, secret }, NOW)).toEqual({ actions: [], requeueAt: NOW + INTERVAL_MS });
  });
});
