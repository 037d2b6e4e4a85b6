/**
 * Makes Services, host ports, addresses of Nodes and NetworkPolicies work for the pods and Nodes of one Docker host: keeps one table of the
 * kernel's packet filter in step with them. It runs in the host's network namespace, with the capability NET_ADMIN.
 *
 * - `rules`: pure; `plan-service` is the decision, `rule-book` what of it has changed, `table` and `transaction` its text for nft
 * - `policy`: NetworkPolicies; `parse-policy` and `policy-chains` are pure, `policy-view` finds what a change concerns
 * - `nft`: carries out transactions, and watches for changes by other programs
 * - `host`: the rest of the host's network: ports and addresses of the bridge, the chain behind DOCKER-USER, connections that conntrack
 *   remembers, health checks of Services
 *
 * The files beside this one wire them together. The API is reached through the load balancer: the host is on no Docker network.
 */
import { type Clock, errorMessage, pause } from '@gantry/base';
import { createCertificateRequester, createHttpClient } from '@gantry/client';
import { Informers } from '@gantry/controller-runtime';
import { type GroupOutcome, type Logger, type Metrics, startService } from '@gantry/service';
import { ClusterView, PROXIED_RESOURCES } from './cluster-view.ts';
import type { ProxyConfig } from './config.ts';
import { FlowCleaner } from './flow-cleaner.ts';
import { forgetStaleFlows } from './host/conntrack.ts';
import { BridgeAddresses } from './host/bridge-addresses.ts';
import { keepDockerUser } from './host/docker-user.ts';
import { HealthCheckServer } from './host/health-check-server.ts';
import { keepHairpin } from './host/hairpin.ts';
import { type Nft, openNft } from './nft/nft.ts';
import { Programmer, type ProgrammerMetrics } from './programmer.ts';
import { POLICY_RESOURCES, type PolicyReports, PolicyView } from './policy/policy-view.ts';
import { CLOSED_ADDRESS_RANGES } from './rules/closed-ranges.ts';
import { RuleBook } from './rules/rule-book.ts';
import { tableSkeleton } from './rules/table.ts';

const COMPONENT = 'kube-proxy';
const RESTART_MS = 1000;

/** The process. Its rules stay when it stops: `remove` of `main.ts` takes them away. */
export async function runProxy(config: ProxyConfig): Promise<GroupOutcome> {
  using service = await startService({ name: 'proxy', ...config });
  const { clock, logger, metrics } = service.parts;
  const { podCidr, podRange, podBridge, serviceCidr } = config;
  using client = createHttpClient({ ...service.parts, server: config.server, fieldManager: COMPONENT });
  const nft = await openNft(config.runDir, config.clusterId);
  const informers = new Informers({
    ...service.parts,
    client,
    resources: [...new Set([...PROXIED_RESOURCES, ...POLICY_RESOURCES])],
    log: logger,
  });
  const book = new RuleBook();
  const closedRanges = [...CLOSED_ADDRESS_RANGES, config.controlRange];
  const view = new ClusterView(book, { podCidr, podRange, podBridge, serviceCidr, closedRanges });
  const flowCleaner = new FlowCleaner({ ...service.parts, forgetStaleFlows });
  const policies = new PolicyView(book, {
    podRange,
    podCidr,
    clock,
    ...policyReports(logger),
  });
  const addresses = new BridgeAddresses({ device: podBridge, range: config.ownRange, clock, logger });
  const isHealthy = () => programmer.isHealthy;
  const healthChecks = new HealthCheckServer({ podCidr, isHealthy, clock, logger });
  const programmer = new Programmer({
    ...service.parts,
    table: config.clusterId,
    skeleton: tableSkeleton({ podBridge, serviceCidr, apiPort: config.apiPort }),
    view,
    policies,
    book,
    nft,
    cleanFlows: flowCleaner.clean,
    keepHost: (host) => {
      addresses.keep(host.addresses);
      healthChecks.keep(host.healthChecks);
    },
    metrics: programmerMetrics(metrics),
  });
  informers.subscribe((event) => {
    view.take(event);
    policies.take(event);
    programmer.notify();
  });
  const programmed = {
    name: 'rules',
    check: () => {
      if (!programmer.isProgrammed) throw new NotProgrammedError('not written yet');
    },
  };
  return await service.run({
    caches: informers,
    ready: [programmed],
    endpoints: [{ host: config.healthHost, port: config.healthPort }],
    requestCertificate: createCertificateRequester(client, clock, COMPONENT),
    members: [
      {
        name: 'hairpin',
        run: (signal) =>
          again('ports of the bridge', { clock, logger }, signal, () => keepHairpin(podBridge, logger, signal)),
      },
      { name: 'docker-user', run: (signal) => keepDockerUser({ ...config, clock, logger }, signal) },
      { name: 'rules', run: (signal) => program(informers, programmer, signal) },
      { name: 'addresses', run: (signal) => addresses.run(signal) },
      { name: 'health-checks', run: (signal) => healthChecks.run(signal) },
      { name: 'flows', run: (signal) => flowCleaner.run(signal) },
      { name: 'foreign-changes', run: (signal) => watchForeignChanges(nft, programmer, { clock, logger }, signal) },
    ],
  });
}

class NotProgrammedError extends Error {
  override readonly name = 'NotProgrammedError';
}

async function program(informers: Informers, programmer: Programmer, signal: AbortSignal): Promise<void> {
  try {
    await informers.when(() => informers.synced(), signal);
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  await programmer.run(signal);
}

interface Surroundings {
  readonly clock: Clock;
  readonly logger: Logger;
}

async function watchForeignChanges(
  nft: Nft,
  programmer: Programmer,
  { clock, logger }: Surroundings,
  signal: AbortSignal,
): Promise<void> {
  const onForeignChange = () => {
    logger.warn({}, 'another program has changed the rules: they are written again');
    programmer.replaceAll();
  };
  await again('changes of rules', { clock, logger }, signal, () => nft.watch(onForeignChange, signal));
}

/** Runs what follows a program's reports, and again where the program ends. */
async function again(
  what: string,
  { clock, logger }: Surroundings,
  signal: AbortSignal,
  follow: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await follow();
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ what, reason: errorMessage(error) }, 'following stopped, and begins again');
      await pause(clock, RESTART_MS, signal);
    }
  }
}

/** What policies are denied is logged: it may be what their authors wonder about. */
function policyReports(logger: Logger): PolicyReports {
  return {
    onOmitted: (policy, rules) =>
      logger.warn({ policy, rules }, 'a NetworkPolicy has too many rules: some are left out'),
    onClosed: (namespace, policy) =>
      logger.warn({ namespace, policy }, 'a namespace has no room for a NetworkPolicy: all of its pods are isolated'),
    onShort: (sets) => logger.warn({ sets }, 'NetworkPolicies of a namespace name too many pods: some are left out'),
    onCrowded: (namespace) =>
      logger.warn({ namespace }, 'too many NetworkPolicies select a pod: some of them are left out for it'),
  };
}

function programmerMetrics(metrics: Metrics): ProgrammerMetrics {
  return {
    seconds: metrics.histogram('kubeproxy_sync_proxy_rules_duration_seconds', 'Time of a transaction of rules', [
      'kind',
    ]),
    failures: metrics.counter(
      'kubeproxy_sync_proxy_rules_nftables_sync_failures_total',
      'Refused transactions of rules',
    ),
    latency: metrics.histogram(
      'kubeproxy_network_programming_duration_seconds',
      "Time from a pod's change to its rules",
    ),
  };
}
