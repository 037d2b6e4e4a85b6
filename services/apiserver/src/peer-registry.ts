import { networkInterfaces } from 'node:os';
import { BlockList } from 'node:net';
import { AssertionError, type Clock, ControlLoop } from '@gantry/base';
import { type Etcd, isEtcdError, prefixEnd } from '@gantry/etcd';

/** The address of an apiserver in the endpoints of `default/kubernetes`. */
export interface PeerAddress {
  readonly ip: string;
  readonly port: number;
}

/** The live apiservers. Each has its own key with an etcd lease. */
export interface PeerRegistry {
  /** Keeps this process in the list until aborted, then removes it. Failures are reported and retried. */
  run(signal: AbortSignal): Promise<void>;
  /** The addresses of all live apiservers, sorted. */
  list(signal: AbortSignal): Promise<readonly PeerAddress[]>;
  /** Whether this process is the first of the list. Use it only for work that is harmless if two apiservers do it at the same time. */
  isFirst(signal: AbortSignal): Promise<boolean>;
}

/** How often a process that is not the first of the list checks again. */
export const LEADS_AGAIN_MS = 5000;

const ROOT = '/gantry/apiservers/';
const TTL_MS = 15_000;
const CALL_TIMEOUT_MS = 3000;

export interface PeerRegistryOptions {
  readonly etcd: Pick<Etcd, 'kv' | 'leases'>;
  readonly clock: Clock;
  /** Unique name of this process. */
  readonly process: string;
  readonly address: PeerAddress;
  readonly onError: (error: unknown) => void;
}

export function createPeerRegistry(options: PeerRegistryOptions): PeerRegistry {
  const { etcd, clock, onError } = options;
  const key = `${ROOT}${options.process}`;
  const value = new TextEncoder().encode(JSON.stringify(options.address));
  let lease: string | undefined;
  const hold = async (signal: AbortSignal): Promise<void> => {
    const call = { signal, timeoutMs: CALL_TIMEOUT_MS };
    if (lease !== undefined) {
      await etcd.leases.keepAlive(lease, call);
      return;
    }
    const granted = await etcd.leases.grant(TTL_MS, call);
    const put = { kind: 'put', key, value, lease: granted.id } as const;
    await etcd.kv.transact({ compare: [], success: [put], failure: [] }, call);
    lease = granted.id;
  };
  const list = async (signal: AbortSignal): Promise<readonly PeerAddress[]> => {
    const range = { key: ROOT, rangeEnd: prefixEnd(ROOT) };
    const { kvs } = await etcd.kv.range(range, { signal, timeoutMs: CALL_TIMEOUT_MS });
    return kvs.map((kv) => parseAddress(kv.key, kv.value)).toSorted(byAddress);
  };
  const loop = new ControlLoop({
    clock,
    intervalMs: TTL_MS / 3,
    round: hold,
    onError: (error) => {
      if (isEtcdError(error, 'lease-gone')) lease = undefined;
      onError(error);
    },
  });
  return {
    run: async (signal) => {
      await loop.run(signal);
      if (lease === undefined) return;
      try {
        await etcd.leases.revoke(lease, { signal: AbortSignal.timeout(CALL_TIMEOUT_MS) });
      } catch (error) {
        // The lease expires by itself.
        onError(error);
      }
    },
    list,
    isFirst: async (signal) => {
      const [first] = await list(signal);
      return first !== undefined && byAddress(first, options.address) === 0;
    },
  };
}

function byAddress(one: PeerAddress, other: PeerAddress): number {
  return one.ip < other.ip ? -1 : one.ip > other.ip ? 1 : one.port - other.port;
}

function parseAddress(key: string, value: Uint8Array): PeerAddress {
  const { ip, port } = JSON.parse(new TextDecoder().decode(value)) as Partial<PeerAddress>;
  if (typeof ip !== 'string' || typeof port !== 'number') throw new AssertionError(`${key} holds no address`);
  return { ip, port };
}

/** Whether this process has the address. */
export function isOwnAddress(address: string): boolean {
  return Object.values(networkInterfaces()).some((all) => all?.some((one) => one.address === address));
}

/**
 * The address at which other processes reach this one. Prefers an address in the pod network, since pods must reach it; else uses the
 * first external one. Undefined when there is none.
 */
export function ownAddress(podRange: string): string | undefined {
  const [network = '', bits = '32'] = podRange.split('/');
  const pods = new BlockList();
  pods.addSubnet(network, Number(bits), 'ipv4');
  const outward = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address);
  return outward.find((address) => pods.check(address, 'ipv4')) ?? outward[0];
}
