import type { Figure } from '../figures.ts';
import { runWorkload, type WorkloadResult } from './run-workload.ts';
import type { SchedulerTarget } from './targets.ts';
import { type Workload, WORKLOADS } from './workloads.ts';

/** Asked is so many times the floor, unless the workload says otherwise. */
const TIMES_FLOOR = 5;
/** Nodes and pods of the workloads that show how the cost of a pod grows. */
const GROWTH = [10, 100, 1000].flatMap((nodes) => [100, 1000, 10_000].map((pods) => ({ nodes, pods })));

export interface SchedulerOptions {
  /** Start a target for one workload, by the name of the scheduler. */
  readonly targets: Readonly<Record<string, () => SchedulerTarget | Promise<SchedulerTarget>>>;
  /** A regular expression for the names of the workloads. */
  readonly wanted: string;
  readonly print: (line: string) => void;
}

/** The workloads of scheduler_perf: pods a second beside the floor of Kubernetes' CI, and CPU a pod. */
export async function measureScheduler({ targets, wanted, print }: SchedulerOptions): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  const chosen = [...WORKLOADS, ...GROWTH.map(growth)].filter(({ name }) => new RegExp(wanted).test(name));
  print(
    '| workload | scheduler | pods | pods/s | floor, newest | asked | scheduler, ms a pod | apiserver | etcd | busiest |',
  );
  print('| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |');
  for (const workload of chosen) {
    for (const [scheduler, start] of Object.entries(targets)) {
      await using target = await start();
      const result = await runWorkload(target, workload);
      print(lineOf(workload, scheduler, result));
      figures.push(...figuresOf(scheduler, result));
    }
  }
  return figures;
}

function figuresOf(scheduler: string, { name, pods, seconds, cpuMs }: WorkloadResult): readonly Figure[] {
  const work = `${name} with ${pods} pods, ${scheduler}`;
  const costs = Object.entries(cpuMs).filter(([, ms]) => ms > 0);
  return [
    { work, what: 'pods', value: pods / seconds, unit: '/s', better: 'more' },
    ...costs.map(
      ([process, ms]): Figure => ({ work, what: `CPU of ${process}`, value: ms / pods, unit: 'ms', better: 'less' }),
    ),
  ];
}

function growth({ nodes, pods }: { readonly nodes: number; readonly pods: number }): Workload {
  return {
    name: `Growth/${nodes} nodes`,
    operations: [
      // Ten thousand pods have to fit on ten nodes.
      { opcode: 'createNodes', count: nodes, template: 'node-large' },
      { opcode: 'createPods', count: pods, template: 'pod-default', wait: 'measured' },
    ],
  };
}

function lineOf(workload: Workload, scheduler: string, { name, pods, seconds, cpuMs }: WorkloadResult): string {
  const { floor, newestFloor, timesFloor = TIMES_FLOOR } = workload;
  const rate = pods / seconds;
  const floors = [floor, newestFloor].map((one) => one ?? '-').join(', ');
  const asked =
    floor === undefined ? '-' : `${rate >= floor * timesFloor ? 'reached' : 'missed'} ${floor * timesFloor}`;
  const each = Object.values(cpuMs).map((ms) => (ms / pods).toFixed(3));
  const [busiest, most] = Object.entries(cpuMs).reduce((max, one) => (one[1] > max[1] ? one : max));
  const share = `${busiest}, ${((most / seconds / 1000) * 100).toFixed(0)} % of a core`;
  return `| ${name} | ${scheduler} | ${pods} | ${rate.toFixed(0)} | ${floors} | ${asked} | ${each.join(' | ')} | ${share} |`;
}
