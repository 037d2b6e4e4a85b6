import { systemUid } from '@gantry/base';
import { createCertificateRequester, createGrpcClient, toGrpcFailure } from '@gantry/client';
import { createFenceHolder, Informers, LoopLog, reportedProcess, reportService } from '@gantry/controller-runtime';
import { openElection } from '@gantry/etcd';
import { type GroupOutcome, leaseMeter, startService } from '@gantry/service';
import { ClusterView, SCHEDULED_RESOURCES } from './cluster-view.ts';
import type { SchedulerConfig } from './config.ts';
import { DecisionLog } from './decision-log.ts';
import { reportPreemptionTo, reportTo } from './meters.ts';
import { SchedulingQueue } from './queue.ts';
import { countResult, schedulingLoop } from './scheduling-loop.ts';
import { createSchedulingLeader } from './scheduling-leader.ts';

const COMPONENT = 'kube-scheduler';
const GRPC_ADDRESS = '0.0.0.0:10259';

/** Runs the process. It always keeps its caches up to date, and schedules only while it is the leader. */
export async function runScheduler(config: SchedulerConfig): Promise<GroupOutcome> {
  using service = await startService({ name: 'scheduler', ...config });
  const { clock, logger, metrics } = service.parts;
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
  const informers = new Informers({ ...service.parts, client, resources: SCHEDULED_RESOURCES, log: logger });
  const queue = new SchedulingQueue(service.parts);
  const decisions = new DecisionLog(clock);
  const loop = new LoopLog(clock);
  const report = reportTo(metrics);
  const view = new ClusterView(queue);
  informers.subscribe((event) => view.take(event));
  const leader = createSchedulingLeader({
    ...service.parts,
    resignAfterMs: config.resignAfterMs,
    client,
    log: logger,
    informers,
    fences,
    view,
    queue,
    component: COMPONENT,
    identity,
    leaseTtlMs,
    onResult: (result, seconds) => {
      report(result, seconds);
      countResult(loop, result, seconds);
    },
    onDecisions: (of) => decisions.add(of),
    onPreemption: reportPreemptionTo(metrics),
  });
  const process = reportedProcess({ component: COMPONENT, identity, leader, leaseTtlMs, clock });
  return await service.run({
    caches: informers,
    grpc: {
      address: GRPC_ADDRESS,
      services: [
        reportService({
          process,
          loops: () => [schedulingLoop(queue, loop, decisions)],
          queue: () => queue.counts(),
          decisions: () => decisions.list(),
        }),
      ],
      toGrpcError: toGrpcFailure,
    },
    requestCertificate: createCertificateRequester(client, clock, COMPONENT),
    members: [leader.member(election)],
  });
}
