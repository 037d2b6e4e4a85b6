/**
 * A proxy without an API server, in a network namespace that stands for a host. It takes objects as lines of JSON from its standard
 * input, and keeps the rules, the chain behind DOCKER-USER and the tunnel until the input ends. An empty line ends the initial objects;
 * rules are written after it. Each transaction is reported as a line of JSON (RulesWritten). Its settings are in the environment, like a
 * proxy's. With the argument `remove` it removes everything.
 */
import { createInterface } from 'node:readline';
import { systemClock, systemRandom } from '@gantry/base';
import { ChangeLoop } from '@gantry/controller-runtime';
import type { KubeObject, Resource } from '@gantry/objects';
import { createLogger, createMetrics } from '@gantry/service';
import { ClusterView } from '../cluster-view.ts';
import { readProxyConfig } from '../config.ts';
import { keepDockerUser } from '../host/docker-user.ts';
import { otherHosts, reachOf } from '../hosts/other-hosts.ts';
import { TunnelKeeper } from '../hosts/tunnel-keeper.ts';
import { tunnelDevice } from '../hosts/tunnel.ts';
import { openNft } from '../nft/nft.ts';
import { PolicyView } from '../policy/policy-view.ts';
import { Programmer } from '../programmer.ts';
import { RuleBook } from '../rules/rule-book.ts';
import { tableSkeleton } from '../rules/table.ts';
import { CLOSED_ADDRESS_RANGES } from '../rules/transaction.ts';
import { removeRules } from '../run-proxy.ts';

/** A transaction that the kernel has accepted. */
export interface RulesWritten {
  /** The time of nft only. */
  readonly nftMs: number;
  /** The time since the first object that had not been planned. */
  readonly tookMs: number;
}

const config = readProxyConfig();
if (process.argv[2] === 'remove') {
  await removeRules(config);
  process.exit(0);
}
const stop = new AbortController();
const parts = {
  clock: systemClock,
  random: systemRandom,
  logger: createLogger({ service: 'proxy', level: 'warn' }, process.stderr),
};
const metrics = createMetrics();
const counter = metrics.counter('failures', 'Failures');
const nft = await openNft(config.runDir, config.clusterId);
const book = new RuleBook();
const others = otherHosts(config);
const closedRanges = [...CLOSED_ADDRESS_RANGES, config.controlRange];
const view = new ClusterView(book, { ...config, ...reachOf(config), closedRanges }, others?.surroundings);
const ignore = () => undefined;
const reports = { onOmitted: ignore, onClosed: ignore, onShort: ignore, onCrowded: ignore };
const policies = new PolicyView(book, { ...config, ...reachOf(config), clock: systemClock, ...reports });
const tunnel = new TunnelKeeper({
  ...parts,
  device: tunnelDevice(config.podBridge),
  tunnel: others?.tunnel,
  metrics: { hosts: metrics.gauge('hosts', 'Hosts'), failures: counter },
});
const programmer = new Programmer({
  ...parts,
  loop: new ChangeLoop({ name: 'rules', shown: [], clock: systemClock }),
  table: config.clusterId,
  skeleton: tableSkeleton({ ...config, tunnel: others?.rules }),
  view,
  policies,
  book,
  nft,
  cleanFlows: ignore,
  keepHost: (host) => tunnel.keep(host.others),
  metrics: { seconds: { observe: report }, failures: counter, latency: metrics.histogram('latency', 'Latency') },
});
const running: Promise<void>[] = [];
let takenAt: number | undefined;

function report(seconds: number): void {
  const nftMs = seconds * 1000;
  const tookMs = takenAt === undefined ? nftMs : systemClock.monotonicMs() - takenAt;
  takenAt = undefined;
  process.stdout.write(`${JSON.stringify({ nftMs, tookMs } satisfies RulesWritten)}\n`);
}

function run(): readonly Promise<void>[] {
  return [
    programmer.run(stop.signal),
    tunnel.run(stop.signal),
    tunnel.follow(stop.signal),
    nft.watch(() => programmer.replaceAll(), stop.signal),
    keepDockerUser({ ...config, tunnelDevice: others?.tunnel.device, ...parts }, stop.signal),
  ];
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line === '') {
    running.push(...run());
    continue;
  }
  takenAt ??= systemClock.monotonicMs();
  const { resource, object, old } = JSON.parse(line) as {
    readonly resource: Resource;
    readonly object?: KubeObject;
    readonly old?: KubeObject;
  };
  for (const one of [view, policies]) one.take({ kind: 'changed', resource, changes: [{ object, old }] });
  programmer.notify();
}
stop.abort();
await Promise.allSettled(running);
process.exit(0);
