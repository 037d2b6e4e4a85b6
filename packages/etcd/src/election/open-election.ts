import type { Clock, Election, Random } from '@gantry/base';
import { openTlsFolder } from '@gantry/tls';
import { connectEtcd } from '../client/connect-etcd.ts';
import { createElection } from './election.ts';

/** Options of a candidate and its etcd. The names match the configuration of the elected services. */
export interface OpenElectionOptions {
  /** `https://etcd-0:2379`, one per member. */
  readonly etcd: readonly string[];
  /** Holds the client certificate for etcd. */
  readonly etcdTlsDir: string;
  readonly leaseTtlMs: number;
  readonly leaseMaxTtlMs: number;
  /** `kube-scheduler`; see `createElection`. */
  readonly component: string;
  readonly identity: string;
  /** See `createElection`. */
  readonly onLease?: (ttlMs: number) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Parameters<typeof openTlsFolder>[1]['logger'];
}

/**
 * A candidate for a service that uses etcd only for its election. It has its own connection. Waits for the certificate, not for etcd.
 * Dispose of it after the campaign.
 */
export async function openElection(options: OpenElectionOptions): Promise<Election & AsyncDisposable> {
  const { clock, random, logger } = options;
  const tls = await openTlsFolder(options.etcdTlsDir, { clock, logger }, new AbortController().signal);
  const etcd = connectEtcd({ endpoints: options.etcd, tls, clock, random });
  const { campaign } = createElection({
    etcd,
    clock,
    random,
    component: options.component,
    identity: options.identity,
    ttlMs: options.leaseTtlMs,
    maxTtlMs: options.leaseMaxTtlMs,
    onLease: options.onLease,
    onNotice: (notice) => logger.info({ ...notice }, 'election'),
  });
  return {
    campaign,
    [Symbol.asyncDispose]: async () => {
      try {
        await etcd[Symbol.asyncDispose]();
      } finally {
        tls[Symbol.dispose]();
      }
    },
  };
}
