import { parseJson } from '@gantry/apimachinery';
import { systemUid } from '@gantry/base';
import {
  createCertificateRequester,
  createGrpcClient,
  createHttpClient,
  discoverResources,
  type HttpClient,
  toGrpcFailure,
} from '@gantry/client';
import {
  createControllerMetrics,
  createFenceHolder,
  createManager,
  reportedProcess,
  reportService,
} from '@gantry/controller-runtime';
import { openElection } from '@gantry/etcd';
import { type JsonObject, ownServiceAddresses, parseIpv4Range, StatusError } from '@gantry/objects';
import { ConfigError, type GroupOutcome, leaseMeter, startService } from '@gantry/service';
import type { Config } from './config.ts';
import { openCertificateAuthority } from './controllers/csr-signing/certificate-authority.shell.ts';
import type { ReadPath } from './controllers/horizontal-pod-autoscaler/scale-reader.shell.ts';
import { createMeters } from './metrics/meters.ts';
import { staleReporter } from './metrics/stale-meters.ts';
import { createControllers } from './registry.ts';

const COMPONENT = 'kube-controller-manager';
/** Maximum size of a response of an extension server: a list of its objects, or an event of a watch. */
const MAX_AGGREGATED_BYTES = 32 * 1024 * 1024;

/** Runs the process: caches are always warm, control loops run while it leads. */
export async function runControllerManager(config: Config): Promise<GroupOutcome> {
  using service = await startService({ name: 'controller-manager', ...config });
  const { clock, logger, metrics, tls } = service.parts;
  const authorities = {
    cluster: await openCertificateAuthority(config.caDir),
    'node-serving': await openCertificateAuthority(config.nodeCaDir),
  };
  const identity = `${config.identity}_${systemUid()}`;
  const { onLease, leaseTtlMs } = leaseMeter(metrics, COMPONENT);
  await using election = await openElection({ ...service.parts, ...config, component: COMPONENT, identity, onLease });
  const fences = createFenceHolder();
  using client = createGrpcClient({
    ...service.parts,
    addresses: config.apiservers,
    fieldManager: COMPONENT,
    fence: () => fences.fence(),
  });
  using aggregated = createHttpClient({
    server: config.apiserverUrl,
    tls,
    fieldManager: COMPONENT,
    maxResponseBytes: MAX_AGGREGATED_BYTES,
  });
  const controllers = createControllers({
    authorities,
    signers: {
      firstServiceAddress: firstAddress(config.serviceCidr),
      podCidr: config.podCidr,
      reservedNames: reservedNames(config),
      servingApproval: config.servingApproval,
      joining: config.joining,
    },
    readCa: () => tls.current().ca.toString(),
    nodeGraceMs: config.nodeGraceMs,
    evictionRates: config.evictionRates,
    podCidr: config.podCidr,
    nodeRanges: config.nodeRanges,
    localPath: { storageClass: config.localPathClass },
    readPath: createReadPath(aggregated),
    meters: createMeters(metrics),
  });
  const reports = createControllerMetrics(metrics, () => manager.queues());
  const manager = createManager({
    ...service.parts,
    resignAfterMs: config.resignAfterMs,
    client,
    aggregated: { client: aggregated, discover: (of, signal) => discoverResources(aggregated, of, signal) },
    fences,
    component: COMPONENT,
    identity,
    leaseTtlMs,
    controllers,
    log: logger,
    ...reports,
    onStale: staleReporter(metrics),
  });
  const process = reportedProcess({ component: COMPONENT, identity, leader: manager.leader, leaseTtlMs, clock });
  return await service.run({
    caches: manager,
    grpc: {
      address: `0.0.0.0:${config.healthPort}`,
      services: [reportService({ process, loops: () => manager.loops() })],
      toGrpcError: toGrpcFailure,
    },
    requestCertificate: createCertificateRequester(client, clock, COMPONENT),
    members: [manager.leader.member(election)],
  });
}

/** DNS names of the control plane: fixed ones, and those in this process's configuration. */
function reservedNames({ apiservers, apiserverUrl, etcd }: Config): readonly string[] {
  const services = ['apiserver', 'controller-manager', 'dns', 'ingress', 'load-balancer', 'scheduler'];
  const fixed = [...services, 'kubernetes', 'kubernetes.default'];
  const hosts = [apiserverUrl, ...etcd, ...apiservers.map((address) => `https://${address}`)];
  return [...fixed, ...hosts.map((url) => new URL(url).hostname)];
}

/** Reads paths over REST, because the API server forwards requests for extension servers there. */
export function createReadPath(client: Pick<HttpClient, 'raw'>): ReadPath {
  return async (path, signal) => {
    const value = parseJson(await client.raw({ method: 'GET', path }, signal));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
    throw StatusError.internal(`the response to ${path} is no object`);
  };
}

/** Sizes of ranges with prefix 30 and prefix 8. */
const MIN_SIZE = 2 ** 2;
const MAX_SIZE = 2 ** 24;

/** The first Service address of an IPv4 range, that of `default/kubernetes`. Throws ConfigError. */
export function firstAddress(cidr: string): string {
  const range = parseIpv4Range(cidr);
  const size = range === undefined ? 0 : range.last - range.first + 1;
  const own = ownServiceAddresses(cidr);
  if (own !== undefined && size >= MIN_SIZE && size <= MAX_SIZE) return own.kubernetes;
  throw new ConfigError('GANTRY_SERVICE_CIDR', `"${cidr}" is no IPv4 range of /8 to /30`);
}
