import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { MeasuredCluster } from '../cluster.ts';
import { describeMs, quantile } from '../statistics.ts';
import { nodeImage } from './node-pods.ts';

const PROGRAM = 'services/proxy/src/testing/many-services.ts';
const ENDPOINTS = 5;
/** Namespaces with rules and devices of their own, in a container that has no network. */
const RIGHTS = [
  ...['--network', 'none', '--cap-add', 'NET_ADMIN', '--cap-add', 'SYS_ADMIN'],
  ...['apparmor=unconfined', 'seccomp=unconfined', 'systempaths=unconfined'].flatMap((one) => ['--security-opt', one]),
];

/** What `services/proxy/src/testing/many-services.ts` writes. */
interface ManyServices {
  readonly load: { readonly tookMs: number; readonly nftMs: number };
  readonly changesMs: readonly number[];
  readonly connectsMs: Readonly<Record<'alone' | 'amongAll' | 'direct', readonly number[]>>;
}

/**
 * The proxy's own program with many Services, in network namespaces of a container of the cluster's image: objects come from a process
 * beside it, so that no API server, no controller and no other watcher is in the figures.
 */
export async function measureManyServices(cluster: MeasuredCluster, services: number): Promise<string[]> {
  const inside = `mkdir -p /run/netns && exec node --conditions=gantry-source ${PROGRAM} ${services} ${ENDPOINTS}`;
  const mount = ['-v', `${process.cwd()}:/gantry:ro`, '-w', '/gantry'];
  const args = ['run', '--rm', ...RIGHTS, ...mount, nodeImage(cluster), 'sh', '-c', inside];
  const { stdout } = await promisify(execFile)('docker', args, { maxBuffer: 2 ** 28 });
  const { load, changesMs, connectsMs } = JSON.parse(stdout) as ManyServices;
  const { alone, amongAll, direct } = connectsMs;
  const micros = (times: readonly number[]) => (quantile(times, 0.5) * 1000).toFixed(0);
  const ratio = (one: readonly number[], other: readonly number[]) =>
    (quantile(one, 0.5) / quantile(other, 0.5)).toFixed(2);
  return [
    `${services} Services with ${services * ENDPOINTS} endpoints are loaded in ${(load.tookMs / 1000).toFixed(1)} s, ${(load.nftMs / 1000).toFixed(1)} s of it in nft.`,
    '',
    `One change then: ${describeMs(changesMs)}, p99 ${quantile(changesMs, 0.99).toFixed(0)} ms.`,
    '',
    '| new connection, p50 | us | ratio |',
    '| --- | --- | --- |',
    `| without a Service | ${micros(direct)} | ${ratio(direct, alone)} |`,
    `| through the only Service | ${micros(alone)} | 1 |`,
    `| through one of ${services} | ${micros(amongAll)} | ${ratio(amongAll, alone)} |`,
  ];
}
