import { networkInterfaces } from 'node:os';
import { errorMessage, untilAborted } from '@gantry/base';
import { createCertificateRequester, createGrpcClient, type GrpcClient, ignoreReasons } from '@gantry/client';
import { createEventRecorder, Informers } from '@gantry/controller-runtime';
import { INGRESS_CLASSES } from '@gantry/objects';
import { type GroupMember, type GroupOutcome, type Logger, startService } from '@gantry/service';
import { ClusterView, WATCHED_RESOURCES } from './cluster-view.ts';
import { HostFile } from './cluster/host-file.ts';
import { PlannedReader } from './cluster/planned-reader.ts';
import { Reports } from './cluster/reports.ts';
import { SecretWatch } from './cluster/secret-watch.ts';
import type { IngressConfig } from './config.ts';
import { Haproxy } from './haproxy/haproxy.ts';
import { programmerMetrics } from './meters.ts';
import { Programmer } from './programmer.ts';
import { SHIPPED_CLASS } from './rules/classes.ts';
import { endpointFilter } from './rules/endpoints.ts';

const COMPONENT = 'ingress-controller';

/** Runs the process, with HAProxy as its child. */
export async function runIngress(config: IngressConfig): Promise<GroupOutcome> {
  using service = await startService({ name: 'ingress', ...config });
  const { clock, logger, metrics } = service.parts;
  using client = createGrpcClient({ ...service.parts, addresses: config.apiservers, fieldManager: COMPONENT });
  const reader = new PlannedReader(client, clock);
  const informers = new Informers({ ...service.parts, client: reader, resources: WATCHED_RESOURCES, log: logger });
  const secrets = new SecretWatch({
    ...service.parts,
    client,
    onChange: () => {
      view.takeSecret();
      programmer.notify();
    },
  });
  const { cache } = informers;
  const hosts = new HostFile(config.stateDir, logger);
  const view = new ClusterView({
    cache,
    secretOf: (namespace, name) => secrets.get(namespace, name),
    owners: await hosts.read(),
    mayServe: endpointFilter([config.controlCidr, ...ownAddresses()]),
  });
  const events = createEventRecorder({ ...service.parts, client, component: COMPONENT, log: logger });
  const reports = new Reports({ client, cache, events, address: config, clock, logger });
  const haproxy = new Haproxy({ folder: config.runDir, frontend: config, clock, logger });
  const programmer = new Programmer({
    ...service.parts,
    view,
    proxy: haproxy,
    followSecrets: (keys) => secrets.follow(keys),
    areSecretsRead: () => secrets.isSynced(),
    report: (report) => reports.put(report),
    storeOwners: (owners) => hosts.write(owners),
    metrics: programmerMetrics(metrics, view, haproxy),
  });
  informers.subscribe((event) => {
    if (view.take(event)) programmer.notify();
  });
  const serving = {
    name: 'haproxy',
    check: () => {
      if (!programmer.isProgrammed) throw new NotServingError('HAProxy does not serve yet');
    },
  };
  return await service.run({
    caches: informers,
    ready: [serving],
    requestCertificate: createCertificateRequester(client, clock, COMPONENT),
    members: [
      { name: 'reports', run: (signal) => reports.run(signal), drain: (signal) => events.flush(signal) },
      proxyMember({ config, informers, client, programmer, haproxy, logger }),
    ],
  });
}

class NotServingError extends Error {
  override readonly name = 'NotServingError';
}

interface Parts {
  readonly config: IngressConfig;
  readonly informers: Informers;
  readonly client: GrpcClient;
  readonly programmer: Programmer;
  readonly haproxy: Haproxy;
  readonly logger: Logger;
}

/** HAProxy runs as long as this member. If HAProxy ends, the process ends too, and with it the container, which is started again. */
function proxyMember({ config, informers, client, programmer, haproxy, logger }: Parts): GroupMember {
  return {
    name: 'proxy',
    run: async (signal) => {
      try {
        await informers.when(() => informers.synced(), signal);
        if (config.ingressClass === 'create') await shipClass(informers, client, logger, signal);
        await Promise.race([programmer.run(signal), haproxy.ended]);
        if (!signal.aborted) throw new NotServingError('HAProxy has ended');
      } catch (error) {
        if (!signal.aborted) throw error;
      } finally {
        haproxy.stop();
      }
    },
    drain: async (signal) => {
      haproxy.drain();
      await Promise.race([haproxy.ended, untilAborted(signal)]);
    },
  };
}

/** Creates the class once per process if it is missing. If it is deleted meanwhile, it stays deleted. */
async function shipClass(informers: Informers, client: GrpcClient, logger: Logger, signal: AbortSignal): Promise<void> {
  if (informers.cache.get(INGRESS_CLASSES, { namespace: '', name: SHIPPED_CLASS.metadata.name ?? '' }) !== undefined)
    return;
  try {
    await ignoreReasons(client.create(INGRESS_CLASSES, SHIPPED_CLASS, signal), ['AlreadyExists']);
  } catch (error) {
    if (signal.aborted) return;
    logger.warn({ reason: errorMessage(error) }, 'cannot create the class');
  }
}

/** Returns the addresses of this container. Requests that are sent to them would come back. */
function ownAddresses(): readonly string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.filter(({ family }) => family === 'IPv4').map(({ address }) => address);
}
