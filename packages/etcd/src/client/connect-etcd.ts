import type { Clock, Random } from '@gantry/base';
import { EtcdError } from '../etcd-error.ts';
import { KV } from '../gen/rpc_pb.ts';
import type { Etcd, KeyValueStore } from '../ports.ts';
import { createAccessControl } from './access-control.ts';
import { createLeases } from './leases.ts';
import { createMaintenance } from './maintenance.ts';
import type { TlsSource } from '@gantry/tls';
import { MemberConnection } from './member-connection.ts';
import { MemberSet } from './member-set.ts';
import { createWatcher, WATCH_TIMINGS, type WatchTimings } from './watch-stream.ts';
import { fromWireKeyValue, fromWireTransaction, revisionOf, toWireRange, toWireTransaction } from './wire.ts';

/** The members and how to reach them. */
export interface EtcdOptions {
  /** `https://etcd-0:2379`, one per member. */
  readonly endpoints: readonly string[];
  /** Absent for plain connections (tests). */
  readonly tls?: TlsSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly watchTimings?: WatchTimings;
}

/** Connects at first use, and again when a connection is lost. Dispose of it after use. */
export function connectEtcd(options: EtcdOptions): Etcd {
  const { endpoints, tls, clock, random } = options;
  if (endpoints.length === 0) throw new EtcdError('invalid', 'no etcd members are configured');
  const connections = endpoints.map((endpoint) => new MemberConnection(endpoint, tls?.current(), clock));
  const members = new MemberSet(connections, tls, Math.floor(random() * endpoints.length));
  return {
    memberCount: endpoints.length,
    kv: createKeyValueStore(members),
    watcher: createWatcher({ members, clock, random, timings: options.watchTimings ?? WATCH_TIMINGS }),
    leases: createLeases(members, clock),
    maintenance: createMaintenance(members),
    access: createAccessControl(members),
    [Symbol.asyncDispose]: async () => members.close(),
  };
}

function createKeyValueStore(members: MemberSet): KeyValueStore {
  return {
    async range(request, options) {
      const response = await members.read(KV.method.range, toWireRange(request), options);
      return {
        revision: revisionOf(response),
        kvs: response.kvs.map(fromWireKeyValue),
        count: Number(response.count),
      };
    },

    async transact(transaction, options) {
      return fromWireTransaction(await members.write(KV.method.txn, toWireTransaction(transaction), options));
    },
  };
}
