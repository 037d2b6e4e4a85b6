import { describe, expect, it } from 'vitest';
import {
  CONFIG_MAPS,
  type Controller,
  type Deployment,
  DEPLOYMENTS,
  type Job,
  JOBS,
  type KubeObject,
  type Pod,
  PODS,
  watchSelf,
} from '../index.ts';
import { type Actor, actor, type ObjectsReader, runDeployments, runJobs, runPods, simulate } from './index.ts';

const idle = (): Controller => ({ name: 'idle', watches: [watchSelf(CONFIG_MAPS)], reconcile: async () => ({}) });
const namespace = 'default';
const podSpec = { restartPolicy: 'Never', containers: [{ name: 'main', image: 'main' }] };
const job = (name: string, spec: object = {}): Job => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name, namespace },
  spec: { template: { spec: podSpec }, ...spec },
});

/** What becomes of objects without any operator. Each different result is noted. */
async function seen(objects: readonly KubeObject[], actors: readonly Actor[], note: (of: ObjectsReader) => string) {
  let notes: string[] = [];
  let last: ObjectsReader | undefined;
  const report = await simulate({
    operator: () => ({ name: 'o', controllers: [idle()] }),
    objects: [{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } }, ...objects],
    actors,
    faults: 'none',
    seeds: 1,
    quietMs: 400_000,
    invariant: (of) => {
      // Another history has begun.
      if (of !== last) notes = [];
      last = of;
      const text = note(of);
      if (text !== '' && text !== notes.at(-1)) notes.push(text);
      return undefined;
    },
  });
  expect(report.text).toBe('');
  return notes;
}

describe('actors', () => {
  it('let Jobs start, end or fail, and be deleted when that is due', async () => {
    const jobs = [
      job('ends', { completions: 3, parallelism: 2, ttlSecondsAfterFinished: 100 }),
      job('fails', { backoffLimit: 1 }),
    ];
    const fails = ({ metadata }: Job) => metadata.name === 'fails';
    const states = (of: ObjectsReader) =>
      of
        .all(JOBS)
        .map(({ metadata, status = {} }) => {
          const types = (status.conditions ?? []).map(({ type }) => type).join();
          const { active = 0, succeeded = 0, failed = 0, startTime, completionTime } = status;
          const ms = Date.parse(completionTime ?? '') - Date.parse(startTime ?? '');
          return `${metadata.name} ${active} ${succeeded} ${failed} ${types} ${completionTime === undefined ? '' : ms}`;
        })
        .join();
    const notes = await seen(jobs, [runJobs({ runMs: 20_000, fails })], states);
    expect(notes[0]).toBe('ends 0 0 0  ');
    expect(notes[1]).toBe('ends 2 0 0  ');
    expect(notes).toContainEqual(expect.stringContaining('ends 0 3 0 SuccessCriteriaMet,Complete 20000'));
    expect(notes.at(-1), 'the other one was deleted').toBe('fails 0 0 2 FailureTarget,Failed ');
  });

  it('leave a suspended Job alone', async () => {
    const notes = await seen([job('waits', { suspend: true })], [runJobs()], (of) =>
      of
        .all(JOBS)
        .map(({ status }) => String(status?.startTime))
        .join(),
    );
    expect(notes).toEqual(['undefined']);
  });

  it('roll out Deployments, also none of their replicas', async () => {
    const deployment = (name: string, replicas: number): Deployment => {
      const labels = { app: name };
      const template = { metadata: { labels }, spec: { ...podSpec, restartPolicy: 'Always' } };
      const spec = { replicas, selector: { matchLabels: labels }, template };
      return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace }, spec };
    };
    const objects = [deployment('web', 3), deployment('off', 0)];
    const notes = await seen(objects, [runDeployments()], (of) =>
      of
        .all(DEPLOYMENTS)
        .map(({ metadata, status = {} }) => {
          const { observedGeneration, availableReplicas = 0, unavailableReplicas = 0, conditions = [] } = status;
          return `${metadata.name} ${observedGeneration} ${availableReplicas} ${unavailableReplicas} ${conditions[0]?.status}`;
        })
        .join(),
    );
    expect(notes).toContainEqual(expect.stringContaining('web 1 0 3 False'));
    expect(notes.at(-1)).toBe('web 1 3 0 True,off 1 0 0 True');
  });

  it('run pods', async () => {
    const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'one', namespace }, spec: podSpec };
    const notes = await seen([pod], [runPods()], (of) =>
      of
        .all(PODS)
        .map(
          ({ status }) =>
            `${status?.phase} ${status?.conditions?.at(-1)?.type} ${status?.containerStatuses?.[0]?.ready}`,
        )
        .join(),
    );
    expect(notes).toEqual(['Pending undefined undefined', 'Running Ready true']);
  });

  it('report a write that the server refuses', async () => {
    const wrong = actor(JOBS, () => ({ inMs: 0, status: { active: -1 } }));
    const report = await simulate({
      operator: () => ({ name: 'o', controllers: [idle()] }),
      objects: [job('one')],
      actors: [wrong],
      seeds: 1,
    });
    expect(report.text).toContain("an actor's write is refused");
  });

  it.each([
    ['returns inMs: NaN for default/one, and not a finite number', () => ({ inMs: Number.NaN, status: {} })],
    ['returns inMs: Infinity for default/one', () => ({ inMs: Number.POSITIVE_INFINITY, deletes: true as const })],
    ['returns inMs: soon for default/one', () => ({ inMs: 'soon' as unknown as number, deletes: true as const })],
    [
      'throws for default/one: no conditions',
      () => {
        throw new TypeError('no conditions');
      },
    ],
  ])('that %s are reported', async (wrong, next) => {
    const report = await simulate({
      operator: () => ({ name: 'o', controllers: [idle()] }),
      objects: [job('one')],
      actors: [actor(JOBS, next)],
      faults: 'none',
      seeds: 1,
    });
    expect(report.text).toContain(`an actor of jobs ${wrong}`);
  });
});
