import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  CONFIG_MAPS,
  type ConfigMap,
  type Controller,
  controllerReference,
  declare,
  type DeclaredController,
  defineKind,
  EVENTS,
  type Job,
  JOBS,
  type ObjectOf,
  SECRETS,
  watchOwnedBy,
  watchSelf,
} from '../index.ts';
import { type ObjectsReader, runJobs, simulate, type Step } from './index.ts';

const GREETINGS = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Greeting',
  spec: z.object({ names: z.array(z.string()) }),
  status: z.object({ greeted: z.int() }),
});
type Greeting = ObjectOf<typeof GREETINGS>;

const key = { namespace: 'default', name: 'hello' };
const greeting: Greeting = {
  apiVersion: 'example.com/v1',
  kind: 'Greeting',
  metadata: { ...key },
  spec: { names: ['a', 'b'] },
};
const rename: Step = (client, signal) =>
  client.patch(GREETINGS, key, { merge: { spec: { names: ['b', 'c'] } } }, signal);
const configMap = (name: string): ConfigMap => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

const declared = () =>
  declare({
    name: 'greetings',
    for: GREETINGS,
    owns: [CONFIG_MAPS],
    desire: ({ object, owned }) => ({
      objects: object.spec.names.map(configMap),
      status: { greeted: owned(CONFIG_MAPS).length },
    }),
  });
const operator = (controller: () => Controller) => () => ({ name: 'greeter', controllers: [controller()] });

describe('a simulation', () => {
  it('finds that a declared controller ends in the same state in every history', async () => {
    const report = await simulate({
      operator: operator(declared),
      kinds: [GREETINGS],
      objects: [{ apiVersion: 'example.com/v1', kind: 'Greeting', metadata: { ...key }, spec: { names: ['a', 'b'] } }],
      steps: [rename],
      seeds: 8,
    });
    expect(report.text).toBe('');
    expect(report.histories).toBe(8);
  });

  it('deletes what belonged to a deleted object', async () => {
    const remove: Step = (client, signal) => client.delete(GREETINGS, key, {}, signal);
    // Without garbage collection, the ConfigMaps would still be there at the end, and equal in all histories.
    const counts: number[] = [];
    const report = await simulate({
      operator: operator(declared),
      kinds: [GREETINGS],
      objects: [greeting],
      steps: [remove],
      seeds: 3,
      invariant: (objects) => void counts.push(objects.all(CONFIG_MAPS).length),
    });
    expect(report.text).toBe('');
    expect([Math.max(...counts), counts.at(-1)]).toEqual([2, 0]);
  });

  /** Makes a Secret with a new name, and then notes that in the status: a crash between the two makes another one. */
  const twoSteps = (): Controller => ({
    name: 'two-steps',
    watches: [watchSelf(GREETINGS), watchOwnedBy(GREETINGS, SECRETS)],
    reconcile: async (at, { cache, client }, signal) => {
      const object = cache.get(GREETINGS, at);
      if (object === undefined || object.status !== undefined) return {};
      const metadata = { generateName: 's-', namespace: 'default', ownerReferences: [controllerReference(object)] };
      await client.create(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata }, signal);
      await client.updateStatus(GREETINGS, { ...object, status: { greeted: 1 } }, signal);
      return {};
    },
  });
  const atMostOne = (objects: ObjectsReader) => (objects.all(SECRETS).length > 1 ? 'two Secrets' : undefined);
  const wrong = { operator: operator(twoSteps), kinds: [GREETINGS], objects: [greeting], invariant: atMostOne };

  it('finds a controller that repeats a step after a crash, and prints the shortest history', async () => {
    const { text, failures } = await simulate({ ...wrong, faults: { crash: 0.5 }, seeds: 8 });
    expect(text).toMatch(/^seed [1-8], .*:\n {2}two Secrets/);
    expect(text).toContain('the process crashes');
    const shortest = Math.min(...failures.map(({ history }) => history.length));
    expect(text.split('history:\n')[1]?.split('\n').length).toBeLessThanOrEqual(shortest);
    const [title = ''] = text.split(':');
    expect(title).toContain('crash');
    expect(title.split(',').length, 'some of the seven kinds of faults are not needed').toBeLessThan(8);
    expect(
      (await simulate({ ...wrong, faults: 'none', seeds: 2 })).failures.map(({ reasons }) => reasons).flat(),
    ).not.toContain('two Secrets');
  });

  it('repeats a history exactly', async () => {
    const [failed] = (await simulate({ ...wrong, faults: { crash: 0.5 }, seeds: 8 })).failures;
    const again = await simulate({ ...wrong, faults: { crash: 0.5 }, seeds: [failed?.seed ?? 0] });
    expect(again.failures).toEqual([failed]);
  });

  it('finds a controller that writes for ever', async () => {
    const restless = (): Controller => ({
      name: 'restless',
      watches: [watchSelf(GREETINGS)],
      reconcile: async (at, { cache, client, clock }, signal) => {
        const object = cache.get(GREETINGS, at);
        if (object === undefined) return {};
        const annotations = { time: String(clock.now()) };
        await client.patch(GREETINGS, at, { merge: { metadata: { annotations } } }, signal);
        return { requeueAfterMs: 60_000 };
      },
    });
    const report = await simulate({ operator: operator(restless), kinds: [GREETINGS], objects: [greeting], seeds: 1 });
    expect(report.text).toContain('still writes after an hour');
  });

  it('names what is written at rest', async () => {
    const restless = (): Controller => ({
      name: 'restless',
      watches: [watchSelf(GREETINGS)],
      reconcile: async (at, { client }, signal) => {
        await client.patch(GREETINGS, at, { merge: { status: { greeted: 1 } }, subresource: 'status' }, signal);
        return { requeueAfterMs: 60_000 };
      },
    });
    const report = await simulate({ operator: operator(restless), kinds: [GREETINGS], objects: [greeting], seeds: 1 });
    expect(report.text).toContain('the operator wrote 2 times at rest: patch greetings/status default/hello');
  });

  it('reports what an invariant finds, with the shortest history', async () => {
    const invariant = () => 'never right';
    const report = await simulate({
      operator: operator(declared),
      kinds: [GREETINGS],
      objects: [greeting],
      seeds: 2,
      invariant,
    });
    expect(report.text).toContain('  never right');
    expect(report.text).toContain('greetings default/hello');
  });

  it('reports an invariant that throws', async () => {
    const report = await simulate({
      operator: operator(declared),
      kinds: [GREETINGS],
      objects: [greeting],
      seeds: 1,
      invariant: () => void expect('a state').toBe('another'),
    });
    expect(report.text).toContain("expected 'a state' to be 'another'");
    expect(report.text).toContain('greetings default/hello');
  });

  it.each(['Foreground', 'Orphan'] as const)('deletes an owner by the policy %s', async (propagationPolicy) => {
    const left: string[] = [];
    const remove: Step = (client, signal) => client.delete(GREETINGS, key, { propagationPolicy }, signal);
    const report = await simulate({
      operator: operator(declared),
      kinds: [GREETINGS],
      objects: [greeting],
      steps: [remove],
      // A controller that still sees the owner would make again what is deleted, or take back what is left.
      faults: 'none',
      seeds: 1,
      invariant: (objects) => {
        const maps = objects.all(CONFIG_MAPS).map(({ metadata }) => (metadata.ownerReferences ?? []).length);
        left.push(`${objects.all(GREETINGS).length} ${maps.join()}`);
        return undefined;
      },
    });
    expect(report.text).toBe('');
    expect(left.at(-1)).toBe(propagationPolicy === 'Orphan' ? '0 0,0' : '0 ');
    // The owner outlives what it owns.
    expect(left.includes('0 1,1')).toBe(false);
  });

  it('fails for a write that no controller declares in its rights', async () => {
    const rights = [{ resource: SECRETS, verbs: ['create'] as const }];
    const withRights = (): Controller => ({ ...twoSteps(), rights });
    const report = await simulate({
      operator: operator(withRights),
      kinds: [GREETINGS],
      objects: [greeting],
      seeds: 1,
    });
    expect(report.failures[0]?.reasons).toEqual([
      'no controller declares in `rights` that it may update greetings/status',
    ]);
    const all = [...rights, { resource: GREETINGS, subresource: 'status', verbs: ['update'] as const }];
    const complete = await simulate({
      // A process of a simulation leads without an election, which needs rights too.
      operator: () => ({ name: 'greeter', leaderElection: {}, controllers: [{ ...twoSteps(), rights: all }] }),
      kinds: [GREETINGS],
      objects: [greeting],
      faults: 'none',
      seeds: 1,
    });
    expect(complete.text).toBe('');
  });

  it('gives steps the simulated time, and the times of the objects are the same', async () => {
    const seen: number[] = [];
    const note: Step = async (client, signal, clock) => {
      const { metadata } = await client.get(GREETINGS, key, signal);
      seen.push(clock.now() - Date.parse(metadata.creationTimestamp ?? ''));
    };
    const options = { operator: operator(declared), kinds: [GREETINGS], objects: [greeting], steps: [note] };
    expect((await simulate({ ...options, faults: 'none', seeds: 1 })).text).toBe('');
    expect(seen.every((ms) => ms >= 0 && ms < 3_600_000)).toBe(true);
  });

  it('is at rest after the time that it is given', async () => {
    const slow = (): Controller => ({
      name: 'slow',
      watches: [watchSelf(GREETINGS)],
      reconcile: async (at, { cache, client, clock }, signal) => {
        const object = cache.get(GREETINGS, at);
        const waitMs = Date.parse(object?.metadata.creationTimestamp ?? '') + 300_000 - clock.now();
        if (object === undefined || object.metadata.labels !== undefined) return {};
        if (waitMs > 0) return { requeueAfterMs: waitMs };
        await client.patch(GREETINGS, at, { merge: { metadata: { labels: { late: 'yes' } } } }, signal);
        return {};
      },
    });
    const options = { operator: operator(slow), kinds: [GREETINGS], objects: [greeting], seeds: 1 };
    expect((await simulate({ ...options, quietMs: 400_000 })).text).toBe('');
    expect((await simulate(options)).text).not.toBe('');
  });

  it('refuses an object of an unknown kind', async () => {
    const report = await simulate({ operator: operator(declared), kinds: [], objects: [greeting], seeds: 1 });
    expect(report.text).toContain('example.com/v1 Greeting is unknown: add it to `kinds`');
  });
});

describe('a simulation of an operator that acts at times', () => {
  const EVERY_MS = 600_000;
  const jobName = (slot: number) => `backup-${slot}`;
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'main' }] } };
  const isDone = ({ status }: Job) => status?.conditions?.some(({ type }) => type === 'Complete') === true;
  /** Runs a Job in each ten minutes, one at a time, and keeps the last two that have ended. */
  const backups = (limit: number) => () =>
    declare({
      name: 'backups',
      for: GREETINGS,
      owns: [JOBS],
      desire: ({ owned, now }) => {
        const jobs = owned(JOBS).toSorted((a, b) => (a.metadata.name ?? '').localeCompare(b.metadata.name ?? ''));
        const slot = Math.floor(now / EVERY_MS);
        const isKnown = jobs.some(({ metadata }) => metadata.name === jobName(slot));
        const isRunning = jobs.some((job) => !isDone(job));
        const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: jobName(slot) }, spec: { template } };
        return {
          objects: isKnown || isRunning ? [] : [job],
          keep: [...jobs.filter((one) => !isDone(one)), ...jobs.filter(isDone).slice(-limit)],
          requeueAt: (slot + 1) * EVERY_MS,
        };
      },
    });
  const options = {
    kinds: [GREETINGS],
    objects: [greeting],
    actors: [runJobs({ runMs: 60_000 })],
    runForMs: 7_200_000,
    quietMs: 900_000,
    invariant: (objects: ObjectsReader) =>
      objects.all(JOBS).filter((job) => !isDone(job)).length > 1 ? 'two Jobs run' : undefined,
    atEnd: (objects: ObjectsReader, now: number) => {
      const ended = objects.all(JOBS).filter(isDone);
      if (ended.length !== 2) return `${ended.length} Jobs are kept`;
      const lastMs = Math.max(...ended.map(({ status }) => Date.parse(status?.completionTime ?? '')));
      return now - lastMs > EVERY_MS + 60_000 ? 'no Job has ended lately' : undefined;
    },
  };

  it('compares no ends, and checks invariants over the time that it is given', async () => {
    let latestMs = 0;
    const invariant = (objects: ObjectsReader, now: number) => {
      const [{ metadata } = greeting] = objects.all(GREETINGS);
      latestMs = Math.max(latestMs, now - Date.parse(metadata.creationTimestamp ?? new Date(now).toISOString()));
      return options.invariant(objects);
    };
    const report = await simulate({ ...options, invariant, operator: operator(backups(2)), seeds: 2 });
    expect(report.text).toBe('');
    expect(latestMs).toBeGreaterThan(7_000_000);
  });

  it('reports what is wrong at the end', async () => {
    const report = await simulate({ ...options, operator: operator(backups(1)), seeds: 1 });
    expect(report.text).toContain('  1 Jobs are kept');
  });

  it('needs something that it checks', async () => {
    const { invariant: _, atEnd: __, ...rest } = options;
    await expect(simulate({ ...rest, operator: operator(backups(2)) })).rejects.toThrow('runForMs: no ends are');
    await expect(simulate({ ...options, operator: operator(backups(2)), runForMs: 0 })).rejects.toThrow('runForMs');
  });
});

describe('a declared object that cannot be changed', () => {
  const job = (image: string) => ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'once' },
    spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image }] } } },
  });
  const jobs = (more: Partial<DeclaredController<Greeting>>) => () =>
    declare<Greeting>({
      name: 'jobs',
      for: GREETINGS,
      owns: [JOBS],
      desire: ({ object }) => ({ objects: [job(object.spec.names[0] ?? '')] }),
      ...more,
    });
  const imageOf = ({ spec }: Job) => spec?.template.spec?.containers[0]?.image;

  it('is not sent again and again: the error and an Event name what can be done', async () => {
    const messages = new Set<string>();
    let sent = 0;
    const counted = () => {
      const controller = jobs({})();
      const reconcile: Controller['reconcile'] = (at, { client, ...context }, signal) => {
        const apply: typeof client.apply = (...call) => {
          sent += 1;
          return client.apply(...call);
        };
        return controller.reconcile(at, { ...context, client: { ...client, apply } }, signal);
      };
      return { ...controller, reconcile };
    };
    const report = await simulate({
      operator: operator(counted),
      kinds: [GREETINGS],
      objects: [greeting],
      steps: [rename],
      faults: 'none',
      seeds: [],
      atEnd: (objects) => {
        for (const { reason, message = '' } of objects.all(EVENTS))
          if (reason === 'ChangeRefused') messages.add(message);
        return objects.all(JOBS).some((one) => imageOf(one) !== 'a') ? 'the Job has changed' : undefined;
      },
    });
    expect(report.text).toBe('');
    const [message = ''] = messages;
    expect(message).toBe(
      'batch/jobs/default/once exists and cannot be changed as desired (spec.template: field is immutable): ' +
        'return it in `keep` to leave it as it is, give the new one another name, or add its resource to `recreates`',
    );
    expect(sent, 'the first, the refused one, and one of each new process').toBeLessThan(5);
  });

  it('is made again if the controller says so, whatever crashes', async () => {
    let last: readonly Job[] = [];
    const report = await simulate({
      operator: operator(jobs({ recreates: [JOBS] })),
      kinds: [GREETINGS],
      objects: [greeting],
      steps: [rename],
      seeds: 5,
      invariant: (objects) => void (last = objects.all(JOBS)),
    });
    expect(report.text).toBe('');
    expect(last.map(imageOf)).toEqual(['b']);
  });
});
