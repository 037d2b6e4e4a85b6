import { backoffMs, type Clock, errorMessage, type NewUid, type Random, sleep } from '@gantry/base';
import { type AccessRule, type Etcd, EtcdError, electionKeyOf } from '@gantry/etcd';
import { INCARNATION_KEY } from './keys.ts';

/** Components that are elected, and the etcd users they are: their certificates' common names. */
const ELECTED: readonly { readonly user: string; readonly component: string }[] = [
  { user: 'system:kube-scheduler', component: 'kube-scheduler' },
  { user: 'system:kube-controller-manager', component: 'kube-controller-manager' },
];

/** What anybody but the apiserver may do in etcd: stand in its own election. */
const ACCESS_RULES: readonly AccessRule[] = ELECTED.map(({ user, component }) => ({
  user,
  permissions: [
    { access: 'readwrite', key: electionKeyOf(component) },
    { access: 'read', key: INCARNATION_KEY },
  ],
}));

interface PrepareOptions {
  readonly etcd: Pick<Etcd, 'kv' | 'access'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly newUid: NewUid;
  /** 'off' where etcd is reached without certificates (tests). */
  readonly accessControl: 'on' | 'off';
  readonly onRetry: (why: string) => void;
}

const RETRY = { initialMs: 100, maxMs: 2000 };
const CALL_TIMEOUT_MS = 3000;

/**
 * Readies a fresh etcd: users and roles, authentication switched on, and an incarnation, by which a restored history is told from the
 * one before. Idempotent, done by every apiserver at its start, tried until it succeeds.
 */
export async function prepareEtcd(options: PrepareOptions, signal: AbortSignal): Promise<void> {
  for (let failures = 1; ; failures++) {
    try {
      if (options.accessControl === 'on') {
        await options.etcd.access.ensure(ACCESS_RULES, { signal, timeoutMs: CALL_TIMEOUT_MS });
      }
      await ensureIncarnation(options, signal);
      return;
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error;
      options.onRetry(errorMessage(error));
      await sleep(options.clock, backoffMs(RETRY, failures, options.random), signal);
    }
  }
}

async function ensureIncarnation({ etcd, newUid }: PrepareOptions, signal: AbortSignal): Promise<void> {
  await etcd.kv.transact(
    {
      compare: [{ key: INCARNATION_KEY, target: 'create-revision', equals: 0 }],
      success: [{ kind: 'put', key: INCARNATION_KEY, value: Buffer.from(newUid()) }],
      failure: [],
    },
    { signal, timeoutMs: CALL_TIMEOUT_MS },
  );
}
