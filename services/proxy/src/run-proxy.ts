import { createCertificateRequester, createHttpClient } from '@gantry/client';
import { ChangeLoop, Informers, runningProcess } from '@gantry/controller-runtime';
import { ENDPOINT_SLICES, NETWORK_POLICIES, SERVICES } from '@gantry/objects';
import { type GroupOutcome, type HealthCheck, type Logger, startService } from '@gantry/service';
import { ClusterView, PROXIED_RESOURCES } from './cluster-view.ts';
import type { ProxyConfig } from './config.ts';
import { FlowCleaner } from './flow-cleaner.ts';
import { BridgeAddresses, removeBridgeAddresses } from './host/bridge-addresses.ts';
import { forgetStaleFlows } from './host/conntrack.ts';
import { removeDockerUser } from './host/docker-user.ts';
import { HealthCheckServer } from './host/health-check-server.ts';
import { reportServer } from './host/report-server.ts';
import { otherHosts, reachOf } from './hosts/other-hosts.ts';
import { removeTunnel, TunnelKeeper } from './hosts/tunnel-keeper.ts';
import { tunnelDevice } from './hosts/tunnel.ts';
import { membersOf } from './members.ts';
import { openNft } from './nft/nft.ts';
import { POLICY_RESOURCES, type PolicyReports, PolicyView } from './policy/policy-view.ts';
import { programmerMetrics, tunnelMetrics } from './meters.ts';
import { Programmer } from './programmer.ts';
import { RuleBook } from './rules/rule-book.ts';
import { tableSkeleton } from './rules/table.ts';
import { CLOSED_ADDRESS_RANGES } from './rules/transaction.ts';

const COMPONENT = 'kube-proxy';

/** Runs the process. Its rules stay when it stops; `remove` of `main.ts` removes them. */
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
  const others = otherHosts(config);
  const { reach, clusterRange } = reachOf(config);
  const topology = { podCidr, podRange, podBridge, serviceCidr, closedRanges, clusterRange };
  const view = new ClusterView(book, topology, others?.surroundings);
  const flowCleaner = new FlowCleaner({ ...service.parts, forgetStaleFlows });
  const policies = new PolicyView(book, { podRange, podCidr, reach, clock, ...policyReports(logger) });
  const addresses = new BridgeAddresses({ device: podBridge, range: config.ownRange, clock, logger });
  const tunnelKeeper = new TunnelKeeper({
    ...service.parts,
    device: tunnelDevice(podBridge),
    tunnel: others?.tunnel,
    metrics: tunnelMetrics(metrics),
  });
  const isHealthy = () => programmer.isHealthy;
  const healthChecks = new HealthCheckServer({ podCidr, isHealthy, clock, logger });
  const loop = new ChangeLoop({ name: 'rules', shown: [SERVICES, ENDPOINT_SLICES, NETWORK_POLICIES], clock });
  const programmer = new Programmer({
    ...service.parts,
    loop,
    table: config.clusterId,
    skeleton: tableSkeleton({ podBridge, podCidr, serviceCidr, apiPort: config.apiPort, tunnel: others?.rules }),
    view,
    policies,
    book,
    nft,
    cleanFlows: flowCleaner.clean,
    keepHost: (host) => {
      addresses.keep(host.addresses);
      healthChecks.keep(host.healthChecks);
      tunnelKeeper.keep(host.others);
    },
    metrics: programmerMetrics(metrics),
  });
  const report = reportServer({
    ...service.parts,
    podCidr,
    parts: {
      process: runningProcess(COMPONENT, podCidr, clock),
      loops: () => [loop.state()],
      cache: () => ({ revision: informers.cache.revision() }),
    },
  });
  informers.subscribe((event) => {
    loop.take(event);
    view.take(event);
    policies.take(event);
    programmer.notify();
  });
  const tasks = { informers, programmer, nft, addresses, healthChecks, flowCleaner, tunnelKeeper };
  return await service.run({
    caches: informers,
    ready: [rulesCheck(programmer)],
    endpoints: [{ host: config.healthHost, port: config.healthPort }],
    requestCertificate: createCertificateRequester(client, clock, COMPONENT),
    members: [...membersOf({ ...config, tunnelDevice: others?.tunnel.device, clock, logger, ...tasks }), report],
  });
}

class NotProgrammedError extends Error {
  override readonly name = 'NotProgrammedError';
}

function rulesCheck(programmer: Programmer): HealthCheck {
  return {
    name: 'rules',
    check: () => {
      if (!programmer.isProgrammed) throw new NotProgrammedError('not written yet');
    },
  };
}

/** Logs what policies are denied, because their authors may look for the reason. */
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

/** Removes all rules, addresses and routes of the cluster from this host. If they are missing, that is no error. */
export async function removeRules(config: ProxyConfig): Promise<void> {
  const { signal } = new AbortController();
  // The tunnel goes first: without the rules it would accept packets of all senders.
  const device = tunnelDevice(config.podBridge);
  await removeTunnel(device, signal);
  const nft = await openNft(config.runDir, config.clusterId);
  await nft.apply(`add table ip ${config.clusterId}\ndelete table ip ${config.clusterId}\n`, signal);
  await removeDockerUser({ ...config, tunnelDevice: device }, signal);
  await removeBridgeAddresses({ device: config.podBridge, range: config.ownRange }, signal);
}
