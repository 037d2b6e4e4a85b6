import { Activities, systemClock, systemRandom, systemUid } from '@gantry/base';
import { createGrpcClient, createHttpClient, discoverResources, toGrpcFailure } from '@gantry/client';
import { createCertificateRequester, createFenceHolder, createManager, runElected } from '@gantry/controller-runtime';
import { connectEtcd, createElection } from '@gantry/etcd';
import {
  cachesListed,
  certificateRenewal,
  createHealth,
  createLogger,
  createMetrics,
  eventLoopWatch,
  exitOnStopSignals,
  type GroupOutcome,
  grpcServer,
  healthService,
  httpEndpoint,
  runGroup,
} from '@gantry/service';
import { openTlsFolder } from '@gantry/tls';
import { openCertificateAuthority } from './controllers/csr-signing/certificate-authority.shell.ts';
import type { Config } from './config.ts';
import { createControllerMetrics } from './metrics.ts';
import { createReadPath } from './read-path.ts';
import { createMeters } from './controllers/meters.ts';
import { createControllers } from './registry.ts';
import { firstAddress } from './service-range.ts';

const COMPONENT = 'kube-controller-manager';

/** The process: warm caches always, control loops while it leads. */
export async function runControllerManager(config: Config): Promise<GroupOutcome> {
  const base = { clock: systemClock, random: systemRandom };
  const { clock } = base;
  const logger = createLogger({ service: 'controller-manager', level: config.logLevel });
  const metrics = createMetrics();
  const activities = new Activities(clock);
  const startUpIsOver = exitOnStopSignals();
  const starting = new AbortController().signal;
  const authorities = {
    cluster: await openCertificateAuthority(config.caDir),
    'node-serving': await openCertificateAuthority(config.nodeCaDir),
  };
  using tls = await openTlsFolder(config.tlsDir, { clock, logger }, starting);
  using etcdTls = await openTlsFolder(config.etcdTlsDir, { clock, logger }, starting);
  await using etcd = connectEtcd({ ...base, endpoints: config.etcd, tls: etcdTls });
  const fences = createFenceHolder();
  using client = createGrpcClient({
    ...base,
    addresses: config.apiservers,
    tls,
    fieldManager: COMPONENT,
    fence: () => fences.fence(),
  });
  using aggregated = createHttpClient({ server: config.apiserverUrl, tls, fieldManager: COMPONENT });
  const identity = `${config.identity}_${systemUid()}`;
  const controllers = createControllers({
    authorities,
    signers: {
      firstServiceAddress: firstAddress(config.serviceCidr),
      reservedNames: reservedNames(config),
      servingApproval: config.servingApproval,
    },
    readCa: () => tls.current().ca.toString(),
    nodeGraceMs: config.nodeGraceMs,
    evictionRates: config.evictionRates,
    podCidr: config.podCidr,
    localPath: { storageClass: config.localPathClass },
    readPath: createReadPath(aggregated),
    meters: createMeters(metrics),
  });
  const reports = createControllerMetrics(metrics, () => manager.queues());
  const manager = createManager({
    ...base,
    client,
    aggregated: { client: aggregated, discover: (of, signal) => discoverResources(aggregated, of, signal) },
    fences,
    component: COMPONENT,
    identity,
    controllers,
    log: logger,
    ...reports,
    activities,
  });
  const election = createElection({
    ...base,
    etcd,
    component: COMPONENT,
    identity,
    ttlMs: config.leaseTtlMs,
    onNotice: (notice) => logger.info({ ...notice }, 'election'),
  });
  const elected = runElected({ ...base, election, act: (term, signal) => manager.lead(term, signal), log: logger });
  const health = createHealth({ ready: [cachesListed(() => manager.missing())] });
  startUpIsOver();
  return await runGroup(
    [
      eventLoopWatch({ clock, logger, metrics, activities }),
      httpEndpoint({ health, metrics }),
      grpcServer({
        tls,
        address: `0.0.0.0:${config.healthPort}`,
        services: [healthService(health, clock)],
        activities,
        clock,
        logger,
        toGrpcError: toGrpcFailure,
      }),
      certificateRenewal({
        ...base,
        folder: config.tlsDir,
        requestCertificate: createCertificateRequester(client, clock, COMPONENT),
        logger,
      }),
      { name: 'caches', run: (signal) => manager.run(signal) },
      { ...elected, drain: () => manager.drain() },
    ],
    { clock, logger },
  );
}

/** DNS names of the control plane: those that are fixed, and those at which this process finds it. */
function reservedNames({ apiservers, apiserverUrl, etcd }: Config): readonly string[] {
  const services = ['apiserver', 'controller-manager', 'dns', 'ingress', 'load-balancer', 'scheduler'];
  const fixed = [...services, 'kubernetes', 'kubernetes.default'];
  const hosts = [apiserverUrl, ...etcd, ...apiservers.map((address) => `https://${address}`)];
  return [...fixed, ...hosts.map((url) => new URL(url).hostname)];
}
