import { systemClock, systemRandom } from '@gantry/base';
import { createGrpcClient, readKubeconfig } from '@gantry/client';
import { createFenceHolder, Informers } from '@gantry/controller-runtime';
import { createLogger } from '@gantry/service';
import { ClusterView, SCHEDULED_RESOURCES } from '../cluster-view.ts';
import { DecisionLog } from '../decision-log.ts';
import { SchedulingQueue } from '../queue.ts';
import { createSchedulingLeader } from '../scheduling-leader.ts';

/**
 * A scheduler against a development API server, as its administrator and without an election:
 * `node --conditions=gantry-source services/scheduler/src/testing/dev-scheduler.ts <kubeconfig file> <gRPC port>`.
 */
const [file = '', grpcPort = ''] = process.argv.slice(2);
const { ca, cert, key } = readKubeconfig(file);
if (ca === undefined || cert === undefined || key === undefined) throw new Error(`${file} has no client certificate`);
const logger = createLogger({ service: 'scheduler', level: 'info' });
const base = { clock: systemClock, random: systemRandom };
const component = 'kube-scheduler';
const fences = createFenceHolder();
const client = createGrpcClient({
  addresses: [`apiserver:${grpcPort}`],
  tls: { current: () => ({ ca, cert, key }), subscribe: () => () => undefined },
  fieldManager: component,
  lookup: () => Promise.resolve(['127.0.0.1']),
});
const informers = new Informers({ ...base, client, resources: SCHEDULED_RESOURCES, log: logger });
const queue = new SchedulingQueue(base);
const view = new ClusterView(queue);
const decisions = new DecisionLog(systemClock);
informers.subscribe((event) => view.take(event));
const leader = createSchedulingLeader({
  ...base,
  client,
  log: logger,
  informers,
  fences,
  view,
  queue,
  component,
  identity: 'dev_dev',
  onDecisions: (of) => decisions.add(of),
});
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
const following = informers.run(stop.signal);
const term = { electionKey: '/gantry/elections/kube-scheduler', epoch: 1, incarnation: 'dev' };
logger.info({}, 'scheduler starts');
await Promise.all([following, leader.lead(term, stop.signal)]);
client[Symbol.dispose]();
