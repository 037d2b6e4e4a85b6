import { Activities, systemClock, systemRandom, systemUid } from '@gantry/base';
import { createGrpcClient, toGrpcFailure } from '@gantry/client';
import { createCertificateRequester, createFenceHolder, Informers, runElected } from '@gantry/controller-runtime';
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
  type Metrics,
  runGroup,
} from '@gantry/service';
import { openTlsFolder } from '@gantry/tls';
import { ClusterView, SCHEDULED_RESOURCES } from './cluster-view.ts';
import type { SchedulerConfig } from './config.ts';
import { SchedulingQueue } from './queue.ts';
import type { SchedulerOptions } from './scheduler.ts';
import { SchedulingLeader } from './scheduling-leader.ts';

const COMPONENT = 'kube-scheduler';
const GRPC_ADDRESS = '0.0.0.0:10259';

/** The process: warm caches always, scheduling while it leads. */
export async function runScheduler(config: SchedulerConfig): Promise<GroupOutcome> {
  const base = { clock: systemClock, random: systemRandom };
  const { clock } = base;
  const logger = createLogger({ service: 'scheduler', level: config.logLevel });
  const metrics = createMetrics();
  const activities = new Activities(clock);
  const startUpIsOver = exitOnStopSignals();
  const starting = new AbortController().signal;
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
  const informers = new Informers({ ...base, client, resources: SCHEDULED_RESOURCES, log: logger });
  const queue = new SchedulingQueue(base);
  const view = new ClusterView(queue);
  informers.subscribe((event) => view.take(event));
  const identity = `${config.identity}_${systemUid()}`;
  const options = { ...base, client, log: logger, informers, fences, view, queue, identity };
  const leader = new SchedulingLeader({ ...options, component: COMPONENT, onResult: reportTo(metrics) });
  const election = createElection({
    ...base,
    etcd,
    component: COMPONENT,
    identity,
    ttlMs: config.leaseTtlMs,
    onNotice: (notice) => logger.info({ ...notice }, 'election'),
  });
  const elected = runElected({
    ...base,
    election,
    act: (term, signal) => leader.lead(term, signal),
    log: logger,
  });
  const health = createHealth({ ready: [cachesListed(() => informers.missing())] });
  startUpIsOver();
  return await runGroup(
    [
      eventLoopWatch({ clock, logger, metrics, activities }),
      httpEndpoint({ health, metrics }),
      grpcServer({
        tls,
        address: GRPC_ADDRESS,
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
      { name: 'caches', run: (signal) => informers.run(signal) },
      { ...elected, drain: () => leader.drain() },
    ],
    { clock, logger },
  );
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
