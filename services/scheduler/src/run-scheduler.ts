import { raceAbort, systemClock, systemRandom, systemUid } from '@gantry/base';
import { createGrpcClient, toGrpcFailure } from '@gantry/client';
import {
  createCertificateRequester,
  createEventRecorder,
  createFenceHolder,
  Informers,
  keepLeaderRecord,
  runElected,
  type Term,
} from '@gantry/controller-runtime';
import { connectEtcd, createElection } from '@gantry/etcd';
import {
  certificateRenewal,
  createHealth,
  createLogger,
  createMetrics,
  type GroupOutcome,
  grpcServer,
  healthService,
  httpEndpoint,
  type Metrics,
  openTlsFolder,
  runGroup,
} from '@gantry/service';
import { ClusterView } from './cluster-view.ts';
import type { SchedulerConfig } from './config.ts';
import { SchedulingQueue } from './queue.ts';
import { runSchedulingCycles, type SchedulerOptions } from './scheduler.ts';
import { NODES, PODS } from './writes.ts';

const COMPONENT = 'kube-scheduler';
const EVENT_SOURCE = 'default-scheduler';
const GRPC_ADDRESS = '0.0.0.0:10259';

/** The process: warm caches always, scheduling while it leads. */
export async function runScheduler(config: SchedulerConfig): Promise<GroupOutcome> {
  const base = { clock: systemClock, random: systemRandom };
  const { clock } = base;
  const logger = createLogger({ service: 'scheduler', level: config.logLevel });
  const metrics = createMetrics();
  const stopEarly = (): void => process.exit(0);
  process.once('SIGTERM', stopEarly);
  using tls = await openTlsFolder(config.tlsDir, { clock, logger }, new AbortController().signal);
  await using etcd = connectEtcd({ ...base, endpoints: config.etcd, tls });
  const fences = createFenceHolder();
  using client = createGrpcClient({
    ...base,
    addresses: config.apiservers,
    tls,
    fieldManager: COMPONENT,
    fence: () => fences.fence(),
  });
  const informers = new Informers({ ...base, client, resources: [NODES, PODS], log: logger });
  const queue = new SchedulingQueue(base);
  const view = new ClusterView(queue);
  informers.onChange((resource, changes) => view.take(resource, changes));
  const identity = `${config.identity}_${systemUid()}`;
  const shared = { ...base, client, log: logger };

  const draining = new AbortController();
  let acting: Promise<void> = Promise.resolve();
  const lead = async (term: Term, signal: AbortSignal): Promise<void> => {
    const ended = new AbortController();
    const stop = AbortSignal.any([signal, draining.signal, ended.signal]);
    await informers.reach(term.epoch, stop);
    fences.set(term, () => informers.cache.revision());
    const events = createEventRecorder({ ...shared, component: EVENT_SOURCE });
    const record = keepLeaderRecord({ ...shared, component: COMPONENT, identity }, stop);
    const options = { ...shared, cache: informers.cache, view, queue, events, onResult: reportTo(metrics) };
    try {
      await runSchedulingCycles(options, stop, signal);
      await events.flush(signal);
    } finally {
      ended.abort();
      await record;
      events.close();
      fences.set(undefined, () => 0);
    }
  };
  const act = async (term: Term, signal: AbortSignal): Promise<void> => {
    acting = lead(term, signal);
    await acting;
    if (!signal.aborted) await raceAbort(new Promise<never>(() => {}), signal);
  };
  // What is under way is finished before the lease is given back.
  const drain = async (): Promise<void> => {
    draining.abort();
    await acting.catch(() => {}); // Told by whoever runs it.
  };

  const election = createElection({
    ...base,
    etcd,
    component: COMPONENT,
    identity,
    ttlMs: config.leaseTtlMs,
    onNotice: (notice) => logger.info({ ...notice }, 'election'),
  });
  const elected = runElected({ ...base, election, act, log: logger });
  const health = createHealth({ ready: [{ name: 'caches', check: () => mustBeSynced(informers.missing()) }] });
  process.off('SIGTERM', stopEarly);
  return await runGroup(
    [
      httpEndpoint({ health, metrics }),
      grpcServer({
        tls,
        address: GRPC_ADDRESS,
        services: [healthService(health, clock)],
        logger,
        toGrpcError: toGrpcFailure,
      }),
      certificateRenewal({
        ...base,
        folder: config.tlsDir,
        requestCertificate: createCertificateRequester(client, clock, COMPONENT),
        logger,
      }),
      { name: 'caches', run: (signal) => informers.run(signal) },
      { ...elected, drain },
    ],
    { clock, logger },
  );
}

class NotReadyError extends Error {
  override readonly name = 'NotReadyError';
}

function mustBeSynced(missing: readonly string[]): void {
  if (missing.length > 0) throw new NotReadyError(`not listed yet: ${missing.join(', ')}`);
}

function reportTo(metrics: Metrics): NonNullable<SchedulerOptions['onResult']> {
  const attempts = metrics.counter('scheduler_schedule_attempts_total', 'Attempts to schedule a pod', ['result']);
  const seconds = metrics.histogram(
    'scheduler_scheduling_attempt_duration_seconds',
    'Time from taking a pod to its answered write',
    ['result'],
  );
  return (result, took) => {
    attempts.inc({ result });
    seconds.observe(took, { result });
  };
}
