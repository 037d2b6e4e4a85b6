import { systemUid } from '@gantry/base';
import {
  createCertificateRequester,
  createGrpcClient,
  createHttpClient,
  discoverResources,
  toGrpcFailure,
} from '@gantry/client';
import { createFenceHolder, createManager, runElected } from '@gantry/controller-runtime';
import { openElection } from '@gantry/etcd';
import { type GroupOutcome, startService } from '@gantry/service';
import { openCertificateAuthority } from './controllers/csr-signing/certificate-authority.shell.ts';
import type { Config } from './config.ts';
import { createControllerMetrics } from './metrics.ts';
import { createReadPath } from './read-path.ts';
import { createMeters } from './meters.ts';
import { createControllers } from './registry.ts';
import { firstAddress } from './service-range.ts';

const COMPONENT = 'kube-controller-manager';

/** The process: warm caches always, control loops while it leads. */
export async function runControllerManager(config: Config): Promise<GroupOutcome> {
  using service = await startService({ name: 'controller-manager', ...config });
  const { clock, logger, metrics, tls } = service.parts;
  const authorities = {
    cluster: await openCertificateAuthority(config.caDir),
    'node-serving': await openCertificateAuthority(config.nodeCaDir),
  };
  const identity = `${config.identity}_${systemUid()}`;
  await using election = await openElection({ ...service.parts, ...config, component: COMPONENT, identity });
  const fences = createFenceHolder();
  using client = createGrpcClient({
    ...service.parts,
    addresses: config.apiservers,
    fieldManager: COMPONENT,
    fence: () => fences.fence(),
  });
  using aggregated = createHttpClient({ server: config.apiserverUrl, tls, fieldManager: COMPONENT });
  const controllers = createControllers({
    authorities,
    signers: {
      firstServiceAddress: firstAddress(config.serviceCidr),
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
    client,
    aggregated: { client: aggregated, discover: (of, signal) => discoverResources(aggregated, of, signal) },
    fences,
    component: COMPONENT,
    identity,
    controllers,
    log: logger,
    ...reports,
  });
  const elected = runElected({
    ...service.parts,
    election,
    act: (term, signal) => manager.lead(term, signal),
    log: logger,
  });
  return await service.run({
    caches: manager,
    grpcHealth: { address: `0.0.0.0:${config.healthPort}`, toGrpcError: toGrpcFailure },
    requestCertificate: createCertificateRequester(client, clock, COMPONENT),
    members: [{ ...elected, drain: () => manager.drain() }],
  });
}

/** DNS names of the control plane: those that are fixed, and those at which this process finds it. */
function reservedNames({ apiservers, apiserverUrl, etcd }: Config): readonly string[] {
  const services = ['apiserver', 'controller-manager', 'dns', 'ingress', 'load-balancer', 'scheduler'];
  const fixed = [...services, 'kubernetes', 'kubernetes.default'];
  const hosts = [apiserverUrl, ...etcd, ...apiservers.map((address) => `https://${address}`)];
  return [...fixed, ...hosts.map((url) => new URL(url).hostname)];
}
