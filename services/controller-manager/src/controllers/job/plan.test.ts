import { readFileSync } from 'node:fs';
import { formatTime, type Instant } from '@gantry/base';
import type { JobSpec, JobStatus, Pod } from '@gantry/objects';
import { describe, expect, it, test } from 'vitest';
import { exampleJob, type PodSketch, sketchedPod } from '../../testing/job-objects.ts';
import { NO_FAILURES } from './backoff.ts';
import { COMPLETION_INDEX } from './job-rules.ts';
import type { ObservedJob } from './observed-job.ts';
import { type Action, planJob, planOrphan } from './plan.ts';

interface Case {
  readonly name: string;
  readonly spec: Partial<JobSpec> & { readonly restartPolicy?: string };
  readonly status?: JobStatus;
  /** `Type=Status Reason: message`. */
  readonly conditions?: readonly string[];
  readonly startedSeconds?: number;
  readonly deleting?: boolean;
  readonly backoff?: { readonly failures: number; readonly agoSeconds: number };
  readonly settled?: readonly string[];
  readonly pods?: readonly (PodSketch & { readonly times?: number })[];
  readonly want: {
    readonly adopt?: number;
    readonly release?: number;
    /** The indexes of the new pods. Null means a pod without an index. */
    readonly create?: readonly (number | null)[];
    /** `counted+ignored` of the new pods. */
    readonly failureCounts?: readonly string[];
    readonly remove?: number | readonly string[];
    readonly finalizer?: string;
    readonly finalized?: number;
    readonly requeueMs?: number;
    readonly reports?: readonly string[];
    /** The type of the last condition, and its reason. */
    readonly ends?: 'Complete' | 'Failed';
    readonly target?: string;
    readonly conditions?: readonly string[];
    readonly started?: false | 'now';
    /** The last status that is written, without times and conditions. Absent when none is written. */
    readonly status?: Partial<JobStatus>;
  };
}

const NOW: Instant = Date.parse('2026-01-01T00:10:00Z');
const CASES = JSON.parse(readFileSync(new URL('./cases.json', import.meta.url), 'utf8')) as readonly Case[];

function observe({ spec, status, conditions = [], pods = [], ...rest }: Case): ObservedJob {
  const { restartPolicy, ...fields } = spec;
  const job = exampleJob(fields, restartPolicy === undefined ? {} : { restartPolicy });
  if (rest.deleting === true) job.metadata.deletionTimestamp = formatTime(NOW);
  const given = {
    ...status,
    ...(conditions.length === 0 ? {} : { conditions: conditions.map(parseCondition) }),
    ...(rest.startedSeconds === undefined ? {} : { startTime: formatTime(NOW - rest.startedSeconds * 1000) }),
  };
  if (Object.keys(given).length > 0) job.status = given;
  const { failures = 0, agoSeconds = 0 } = rest.backoff ?? {};
  return {
    job,
    pods: pods.flatMap((sketch, i) =>
      Array.from({ length: sketch.times ?? 1 }, (_, k) => sketchedPod(sketch, sketch.uid ?? `pod-${i}-${k}`, job, NOW)),
    ),
    backoff: rest.backoff === undefined ? NO_FAILURES : { failures, lastFailure: NOW - agoSeconds * 1000 },
    settled: new Set(rest.settled),
  };
}

function parseCondition(text: string) {
  const [, type = '', status = '', reason = '', message = ''] = /^(\w+)=(\w+) (\w+): (.*)$/.exec(text) ?? [];
  const lastTransitionTime = formatTime(NOW - 60_000);
  return { type, status, reason, message, lastProbeTime: lastTransitionTime, lastTransitionTime };
}

const formatConditions = (status: Partial<JobStatus> | undefined) =>
  (status?.conditions ?? []).map(
    ({ type, status: value, reason, message }) => `${type}=${value} ${reason}: ${message}`,
  );

function wantedConditions({ ends, target, conditions = [] }: Case['want']): readonly string[] {
  const reached = 'CompletionsReached: Reached expected number of succeeded pods';
  if (ends === 'Complete') return [`SuccessCriteriaMet=True ${reached}`, `Complete=True ${reached}`];
  if (target === undefined) return conditions;
  return [`FailureTarget=True ${target}`, ...(ends === 'Failed' ? [`Failed=True ${target}`] : [])];
}

const failureCounts = ({ metadata }: Pod) =>
  ['job-index-failure-count', 'job-index-ignored-failure-count']
    .flatMap((name) => metadata.annotations?.[`batch.kubernetes.io/${name}`] ?? [])
    .join('+');

/** The part of the actions that a case checks. */
function outcomeOf(actions: readonly Action[], wanted: Case['want']) {
  const of = <K extends Action['kind']>(kind: K) =>
    actions.filter((action): action is Extract<Action, { kind: K }> => action.kind === kind);
  const created = of('createPod').map(({ pod }) => pod);
  const removed = of('deletePod');
  const status = of('updateStatus').at(-1)?.status;
  const { conditions: _c, startTime, completionTime, uncountedTerminatedPods, ...counts } = status ?? {};
  return {
    adopt: of('adopt').length,
    release: of('release').length,
    create: created.map(({ metadata }) => {
      const index = metadata.annotations?.[COMPLETION_INDEX];
      return index === undefined ? null : Number(index);
    }),
    failureCounts: wanted.failureCounts === undefined ? undefined : created.map(failureCounts),
    remove: Array.isArray(wanted.remove) ? removed.map(({ pod }) => pod.metadata.uid) : removed.length,
    finalizer: wanted.finalizer === undefined ? undefined : removed.map(({ finalizer }) => finalizer)[0],
    finalized: of('removeFinalizers').flatMap(({ pods }) => pods).length,
    reports: of('report').map(({ report }) => `${report.type} ${report.reason}: ${report.message}`),
    conditions: formatConditions(status),
    ...(wanted.started === undefined
      ? {}
      : { started: startTime === formatTime(NOW) ? 'now' : startTime !== undefined }),
    completed: completionTime !== undefined,
    uncounted: uncountedTerminatedPods,
    status: status === undefined ? undefined : counts,
  };
}

describe('planJob', () => {
  test.each(CASES)('$name', (example) => {
    const { want } = example;
    const observed = observe(example);
    const plan = planJob(observed, NOW);
    expect(outcomeOf(plan.actions, want)).toEqual({
      adopt: want.adopt ?? 0,
      release: want.release ?? 0,
      create: want.create ?? [],
      failureCounts: want.failureCounts,
      remove: want.remove ?? 0,
      finalizer: want.finalizer,
      finalized: want.finalized ?? 0,
      reports: want.reports ?? [],
      conditions: wantedConditions(want),
      ...(want.started === undefined ? {} : { started: want.started }),
      completed: want.ends === 'Complete' || (want.conditions ?? []).some((text) => text.startsWith('Complete=True')),
      uncounted: want.status === undefined ? undefined : {},
      status: want.status === undefined ? undefined : { ready: 0, terminating: 0, ...want.status },
    });
    expect(plan.requeueAt === undefined ? undefined : plan.requeueAt - NOW).toBe(want.requeueMs);
  });

  it('records ended pods before they lose their finalizers, and counts them after', () => {
    const job = exampleJob({ parallelism: 1, completions: 5 });
    const pods = (['succeeded', 'failed', 'running'] as const).map((is) => sketchedPod({ is }, is, job, NOW));
    const { actions } = planJob({ job, pods, backoff: NO_FAILURES, settled: new Set() }, NOW);
    expect(actions.map(({ kind }) => kind)).toEqual(['updateStatus', 'remember', 'removeFinalizers', 'updateStatus']);
    expect(actions[0]).toMatchObject({
      status: { succeeded: undefined, uncountedTerminatedPods: { succeeded: ['succeeded'], failed: ['failed'] } },
    });
    expect(actions[3]).toMatchObject({ status: { succeeded: 1, failed: 1, uncountedTerminatedPods: {} } });
  });

  it('records 500 pods at once at most, and does not end before all are counted', () => {
    const job = exampleJob({ parallelism: 1, completions: 600 });
    const pods = Array.from({ length: 600 }, (_, i) => sketchedPod({ is: 'succeeded' }, `p${i}`, job, NOW));
    const { actions } = planJob({ job, pods, backoff: NO_FAILURES, settled: new Set() }, NOW);
    const last = actions.at(-1);
    expect(last?.kind === 'updateStatus' ? last.status.succeeded : undefined).toBe(500);
    expect(last?.kind === 'updateStatus' ? formatConditions(last.status) : []).toEqual([
      'SuccessCriteriaMet=True CompletionsReached: Reached expected number of succeeded pods',
    ]);
  });

  it('creates and deletes 500 pods at once at most', () => {
    const many = exampleJob({ parallelism: 2000, completions: 2000 });
    const observed = { pods: [], backoff: NO_FAILURES, settled: new Set<string>() };
    const kinds = (job: typeof many, pods: readonly Pod[]) =>
      planJob({ ...observed, job, pods }, NOW).actions.map(({ kind }) => kind);
    expect(kinds(many, []).filter((kind) => kind === 'createPod')).toHaveLength(500);
    const none = exampleJob({ parallelism: 0, completions: 2000 });
    const running = Array.from({ length: 600 }, (_, i) => sketchedPod({ is: 'running' }, `p${i}`, none, NOW));
    expect(kinds(none, running).filter((kind) => kind === 'deletePod')).toHaveLength(500);
  });
});

describe('planOrphan', () => {
  const job = exampleJob({ completions: 1 });
  const ended = { ...job, status: { conditions: [parseCondition('Failed=True X: y')] } };
  const elsewhere = { ...ended, spec: { ...exampleJob({}).spec, template: {}, managedBy: 'example.org/mine' } };
  const other = { ...job, metadata: { ...job.metadata, uid: 'other' } };
  const pod = sketchedPod({ is: 'running' }, 'p', job, NOW);
  const free = sketchedPod({ is: 'running', owned: false }, 'p', job, NOW);
  const setPod = {
    ...pod,
    metadata: {
      ...pod.metadata,
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'work', uid: 'set', controller: true }],
    },
  };

  it.each([
    ['whose Job runs', pod, job, 0],
    ['whose Job has ended', pod, ended, 1],
    ['whose Job is gone', pod, undefined, 1],
    ['whose Job’s name belongs to another', pod, other, 1],
    ['whose Job another controller runs', pod, elsewhere, 0],
    ['without a controller', free, undefined, 1],
    ['of a ReplicaSet', setPod, undefined, 0],
    ['without the finalizer', sketchedPod({ is: 'running', finalizer: false }, 'p', job, NOW), undefined, 0],
  ])('a pod %s', (_name, orphan, owner, count) => {
    expect(planOrphan(orphan, owner).actions).toHaveLength(count);
  });
});
