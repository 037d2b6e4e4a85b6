import { rm } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { check } from './check.ts';
import {
  addObject,
  edit,
  type EditableRun,
  found,
  putsOf,
  readRecordedRun,
  revisionAt,
  startsOf,
  writeRun,
} from './testing/editable-run.ts';
import { delayElection, ended, MUTATIONS, startAgain, writeAsElector } from './testing/mutations.ts';
import { repeatIndex } from './testing/mutations-of-controllers.ts';

let recorded: string;

beforeAll(async () => {
  recorded = JSON.stringify(await readRecordedRun(), (_, value: unknown) =>
    value instanceof Map ? { map: [...value] } : value,
  );
});

/** A copy that a test may change. */
function copy(): EditableRun {
  return JSON.parse(recorded, (_, value: unknown) => {
    const map = (value as { map?: [string, unknown][] } | null)?.map;
    return Array.isArray(map) ? new Map(map) : value;
  }) as EditableRun;
}

/** What a check of the run says against an invariant. */
async function violationsOf(run: EditableRun, invariant: string): Promise<readonly string[]> {
  await using written = await writeRun(run);
  const own = (await check(written.folder)).invariants.find((one) => one.invariant === invariant);
  return found(own, invariant).violations.map(({ what }) => what);
}

/** Puts a defect into a run, as the mutation of this title does. Returns files that the run has then, too. */
function mutate(run: EditableRun, title: string) {
  return found(
    MUTATIONS.find(({ what }) => what === title),
    title,
  ).mutate(run);
}

describe('check', () => {
  it('finds nothing in the recorded run, and says what it could not check', async () => {
    await using written = await writeRun(copy());
    const verdict = await check(written.folder);
    expect(
      verdict.invariants.flatMap(({ invariant, violations }) => violations.map(({ what }) => `${invariant} ${what}`)),
    ).toEqual([]);
    expect(verdict).toMatchObject({ outcome: 'ok', problems: [] });
    expect(verdict.invariants.map(({ invariant }) => invariant)).toEqual(
      Array.from({ length: 35 }, (_, i) => `I${i + 1}`),
    );
    // Nothing counts as passed that had no case.
    const idle = verdict.invariants.filter(({ checked }) => checked === 0);
    expect(idle.map(({ invariant, notChecked }) => `${invariant}: ${notChecked}`)).toEqual([
      'I34: the run has no requests to Services',
    ]);
  });

  it.each(MUTATIONS)('$invariant finds: $what', async ({ invariant, mutate }) => {
    const run = copy();
    const more = mutate(run);
    await using written = await writeRun(run, more ?? {});
    const verdict = await check(written.folder);
    const own = verdict.invariants.find((one) => one.invariant === invariant);
    expect(own?.violations.map(({ what }) => what)).not.toEqual([]);
    for (const { evidence } of own?.violations ?? [])
      for (const line of evidence) expect(line).toMatch(/^[\w/.-]+:\d+$/);
    expect(verdict.outcome).toBe('violations');
  });

  it.each([
    ['agent/1 apiserver', 'wrong'],
    ['scheduler/leader apiserver', 'wrong'],
    ['controller-manager/leader etcd', 'wrong'],
    ['scheduler/standby etcd', 'right'],
    ['apiserver/1 etcd', 'right'],
    ['etcd/leader etcd/others', 'right'],
    ['cluster', 'right'],
  ])('an election that takes a minute while %s is cut: %s', async (target, verdictIs) => {
    const run = copy();
    delayElection(run);
    const cut = { id: 'f0', kind: 'cut', target };
    run.faults.unshift({ ...cut, phase: 'start', atMs: 1, detail: 'another' });
    const what = await violationsOf(run, 'I6');
    if (verdictIs === 'right') expect(what).toEqual([]);
    else expect(what).toContainEqual(expect.stringContaining('nobody led for'));
  });

  it("accepts that a standby requests its certificate without an epoch, that a user's elector writes in its term, and that a client takes its finalizer away", async () => {
    const run = copy();
    writeAsElector(run);
    const requests = 'certificates.k8s.io/certificatesigningrequests';
    addObject(
      revisionAt(run, 1000),
      requests,
      { metadata: { name: 'standby', uid: 'a' } },
      { writer: 'system:kube-scheduler' },
    );
    const more = MUTATIONS.find(({ what }) => what === 'an object whose finalizer nobody has taken away')?.mutate(run);
    const lines = found(run.clients.get('held-0.jsonl'), 'client');
    run.clients.set('held-0.jsonl', [
      ...lines,
      ...lines.map((line) => ({ ...line, op: 'held.2', verb: 'patch' }) as const),
    ]);
    await using written = await writeRun(run, more ?? {});
    const { invariants } = await check(written.folder);
    const of = (id: string) => invariants.find(({ invariant }) => invariant === id)?.violations;
    expect([of('I2'), of('I20')]).toEqual([[], []]);
  });

  it('reports what the campaign itself found, also in a run without another violation', async () => {
    await using written = await writeRun(copy(), {
      'findings.jsonl': [{ atMs: 1, what: 'not healthy: node n is lost' }],
    });
    expect(await check(written.folder)).toMatchObject({
      outcome: 'violations',
      found: ['not healthy: node n is lost'],
    });
  });

  it.each([
    ['a moment', 'right', 127_000],
    ['long', 'wrong', 117_500],
  ])('a replica is deleted from a node that lost its taints %s before: %s', async (_, verdictIs, atMs) => {
    const run = copy();
    const node = putsOf(run, 'nodes/vm-1').find(({ object }) => (object.spec?.taints?.length ?? 0) > 0);
    if (node === undefined) throw new Error('the recorded run has no tainted node');
    addObject(revisionAt(run, atMs), 'nodes', { ...node.object, spec: { ...node.object.spec, taints: [] } });
    const what = await violationsOf(run, 'I15');
    if (verdictIs === 'right') expect(what).toEqual([]);
    else expect(what).toContainEqual(expect.stringContaining('was deleted, which leaves'));
  });

  it.each([
    ['its agent', 'right'],
    ['a leader', 'wrong'],
  ])('a controller that takes the last finalizer from a pod that %s has released: %s', async (who, verdictIs) => {
    const run = copy();
    mutate(run, 'a controller that removes a running pod');
    const ends = putsOf(run, 'pods/chaos/web').filter(({ object }) => object.metadata?.deletionTimestamp !== undefined);
    edit(ends, (pod) => {
      if (pod.metadata !== undefined) pod.metadata.deletionGracePeriodSeconds = 0;
    });
    const leader = found(
      putsOf(run, 'apps/replicasets/').find(({ header }) => header.electionKey !== ''),
      'write of a leader',
    ).header;
    const agent = { writer: 'system:node:vm-1', electionKey: '', epoch: 0, incarnation: '' };
    // The others, which agents wrote later, release nothing any more.
    const first = [...Map.groupBy(ends, ({ event }) => event.key).values()].map(([put]) => found(put, 'put'));
    edit(first, () => undefined, who === 'a leader' ? leader : agent);
    const what = await violationsOf(run, 'I13');
    if (verdictIs === 'right') expect(what).toEqual([]);
    else expect(what).toContainEqual(expect.stringContaining('ended it on'));
  });

  it.each([
    ['certificates.k8s.io/certificatesigningrequests', 'right'],
    ['scheduling.k8s.io/priorityclasses', 'wrong'],
  ])('a controller that removes one of %s shortly before the end: %s', async (resource, verdictIs) => {
    const run = copy();
    addObject(found(run.history[0], 'revision'), resource, { metadata: { name: 'old', uid: 'old' } });
    const last = found(run.history.at(-1), 'revision');
    run.run = { ...run.run, endedAtMs: last.atMs + 1000 };
    const { electionKey, epoch } = found(
      putsOf(run, 'apps/replicasets/').findLast(({ at }) => at.revision < last.revision),
      'ReplicaSet',
    ).header;
    const key = `/registry/${resource}/old`;
    const value = Buffer.from(JSON.stringify({ electionKey, epoch })).toString('base64');
    const place = { createRevision: last.revision, modRevision: last.revision, version: 1 };
    last.events.push(
      { type: 'delete', key, modRevision: last.revision },
      { type: 'put', key: `/gantry/deleted${key}`, value, ...place },
    );
    const what = await violationsOf(run, 'I21');
    if (verdictIs === 'right') expect(what).toEqual([]);
    else expect(what).toContainEqual(expect.stringContaining(`${key} changed`));
  });

  it('does not compare the end of a run that was ended before its workloads', async () => {
    const run = copy();
    const undisturbed = mutate(run, 'an end state that differs from that of an undisturbed run') ?? {};
    const { quietFromRevision: _, quietFromMs: __, ...facts } = run.run;
    run.run = facts;
    await using written = await writeRun(run, undisturbed);
    const own = (await check(written.folder)).invariants.find(({ invariant }) => invariant === 'I21');
    expect(own?.violations).toEqual([]);
    expect(own?.notChecked).toBe('the run was ended before its workloads');
  });

  it('accepts that a pod reports another container than the one that ended', async () => {
    const run = copy();
    const pod = found(
      putsOf(run, 'pods/chaos/db-0').findLast(({ object }) => object.status?.phase === 'Running'),
      'db-0',
    );
    const [status] = pod.object.status?.containerStatuses ?? [];
    const id = status?.containerID?.split('://')[1];
    const start = found(
      startsOf(run, 'db-0').find((one) => one.id === id),
      'container of db-0',
    );
    const last = run.engine.findLastIndex((line) => 'snapshot' in line);
    run.engine.splice(last, 1);
    const atMs = run.run.quietFromMs ?? 0;
    run.engine.push({ ...start, action: 'die', atMs }, { ...start, id: 'next', atMs: atMs + 100 });
    const reported = structuredClone(pod.object);
    reported.status = { ...reported.status, containerStatuses: [{ ...status, containerID: 'docker://next' }] };
    addObject(revisionAt(run, atMs + 200), 'pods', reported);
    expect(await violationsOf(run, 'I10')).toEqual([]);
  });

  it.each([
    ['DeletionByTaintManager', 'right'],
    ['EvictionByEvictionAPI', 'wrong'],
  ])("a deletion below a Deployment's budget after %s: %s", async (reason, verdictIs) => {
    const run = copy();
    edit(putsOf(run, 'apps/deployments/chaos/web'), (object) => {
      object.spec = { ...object.spec, replicas: 30 };
    });
    edit(putsOf(run, 'pods/chaos/web'), (object) => {
      const target = { type: 'DisruptionTarget', status: 'True', reason };
      object.status = { ...object.status, conditions: [...(object.status?.conditions ?? []), target] };
    });
    const what = await violationsOf(run, 'I14');
    if (verdictIs === 'right') expect(what).toEqual([]);
    else expect(what).toContainEqual(expect.stringContaining('ready pods of'));
  });

  it.each([
    ['just before, after its ReplicaSet was scaled down', 0, 'right'],
    ['5 s before, which the controller may not have seen', 5000, 'right'],
    ['long before', undefined, 'wrong'],
  ])('the deletion of a pod that became ready %s (%s ms): %s', async (_, earlierMs, verdictIs) => {
    const run = copy();
    edit(putsOf(run, 'apps/deployments/chaos/web'), (object) => {
      object.spec = { ...object.spec, replicas: 30 };
    });
    const puts = putsOf(run, 'pods/chaos/web');
    const isReady = ({ object }: (typeof puts)[number]) =>
      object.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
    const deletions = puts.filter(
      (put) =>
        put.object.metadata?.deletionTimestamp !== undefined &&
        put.header.writer === 'system:kube-controller-manager' &&
        isReady(put),
    );
    expect(deletions.length).toBeGreaterThan(2);
    for (const { object, event, at } of earlierMs === undefined ? [] : deletions) {
      const earlier = puts.filter((put) => put.event.key === event.key && put.at.revision < at.revision);
      edit(earlier, ({ status }) => {
        for (const condition of status?.conditions ?? []) if (condition.type === 'Ready') condition.status = 'False';
      });
      const { deletionTimestamp: __, ...metadata } = object.metadata ?? {};
      const readyIn = run.history.findLast(
        ({ revision, atMs }) => revision < at.revision && atMs <= at.atMs - (earlierMs ?? 0),
      );
      addObject(found(readyIn, 'revision before the deletion'), 'pods', { ...structuredClone(object), metadata });
    }
    const what = await violationsOf(run, 'I14');
    if (verdictIs === 'right') expect(what).toEqual([]);
    else expect(what).toContainEqual(expect.stringContaining('ready pods of'));
  });

  it.each([
    ['the controller', 'wrong'],
    ['a user', 'right'],
  ])('a set that loses a replica too many, just after %s ended another one: %s', async (writer, verdictIs) => {
    const scaledTo = (replicas: number) => {
      const run = copy();
      edit(putsOf(run, 'apps/replicasets/chaos/web'), (object) => {
        object.spec = { ...object.spec, replicas };
      });
      return run;
    };
    const [, first, second] = (await violationsOf(scaledTo(30), 'I15')).filter((what) => what.includes('was deleted'));
    const left = Number(/leaves (\d+) of/.exec(found(second, 'deletion, 6 s after the first'))?.[1]);
    const run = scaledTo(left + 1);
    const key = found(first, 'deletion').split(' ')[0];
    const ending = putsOf(run, 'pods/chaos/web').filter(
      ({ event, object }) => event.key === key && object.metadata?.deletionTimestamp !== undefined,
    );
    if (writer === 'a user')
      edit(ending, () => undefined, { writer: 'jane', electionKey: '', epoch: 0, incarnation: '' });
    const violations = (await violationsOf(run, 'I15')).filter((what) => what.includes(`leaves ${left} of`));
    expect(violations.length).toBe(verdictIs === 'right' ? 0 : 1);
  });

  it.each([
    ['a pod that had succeeded', {}, {}, 'wrong'],
    ['a pod that was deleted before it succeeded', { deletionTimestamp: '2026-01-01T00:00:00Z' }, {}, 'right'],
    [
      'such a pod, though its Job waits for the end of its pods',
      { deletionTimestamp: '2026-01-01T00:00:00Z' },
      { podReplacementPolicy: 'Failed' },
      'wrong',
    ],
  ])('an index is done again after %s', async (_, metadata, spec, verdictIs) => {
    const run = copy();
    const { at, event } = repeatIndex(run);
    const since = putsOf(run, 'pods/chaos/work-0').filter((put) => put.event.key === event.key);
    edit(
      since.filter((put) => put.at.revision >= at.revision),
      (pod) => {
        const { deletionTimestamp: __, ...rest } = pod.metadata ?? {};
        pod.metadata = { ...rest, ...metadata };
      },
    );
    edit(putsOf(run, 'batch/jobs/chaos/work'), (job) => {
      job.spec = { ...job.spec, ...spec };
    });
    const what = await violationsOf(run, 'I16');
    if (verdictIs === 'right') expect(what).toEqual([]);
    else expect(what).toContainEqual(expect.stringContaining('was done again by pod again'));
  });

  it.each([
    ['system:node:vm-2', 'wrong'],
    ['system:node:vm-1', 'right'],
    ['kubernetes-admin', 'right'],
  ])(
    'a container that starts amid faults, 20 s after %s has written the end of its pod: %s',
    async (writer, verdictIs) => {
      const run = copy();
      const end = ended(run);
      edit([end], () => undefined, { writer });
      startAgain(run, end.at.atMs + 20_000);
      const what = await violationsOf(run, 'I3');
      if (verdictIs === 'right') expect(what).toEqual([]);
      else expect(what).toEqual([expect.stringContaining('whose end it reported')]);
    },
  );

  it('does not pass a run whose history lost an event', async () => {
    const run = copy();
    run.history.splice(100, 1);
    await using written = await writeRun(run);
    const verdict = await check(written.folder);
    expect(verdict.outcome).toBe('unusable');
    expect(verdict.problems[0]).toMatch(/^etcd\/etcd-0\.jsonl:101: revision \d+ follows \d+: events are missing$/);
    expect(verdict.invariants.find(({ invariant }) => invariant === 'I2')?.notChecked).toBe(verdict.problems[0]);
  });

  it('finds an event that is lost within a revision, by the version of its key', async () => {
    const run = copy();
    const update = run.history.find(
      ({ events }) =>
        events.length > 1 && events.some((one) => one.type === 'put' && one.key.startsWith('/gantry/commit')),
    );
    update?.events.splice(
      update.events.findIndex(({ key }) => key.startsWith('/gantry/commit')),
      1,
    );
    await using written = await writeRun(run);
    const verdict = await check(written.folder);
    expect(verdict.problems[0]).toMatch(/version \d+ of \/gantry\/commit\/\S+ follows \d+: events are missing$/);
  });

  it('takes a read whose value was not recorded for no read of nothing', async () => {
    const run = copy();
    const reads = [...run.clients.values()]
      .flat()
      .filter((line) => 'op' in line && line.verb === 'get' && 'value' in line);
    expect(reads.length).toBeGreaterThan(0);
    for (const read of reads) Reflect.deleteProperty(read, 'value');
    await using written = await writeRun(run);
    const verdict = await check(written.folder);
    expect(verdict.invariants.find(({ invariant }) => invariant === 'I25')?.violations).toEqual([]);
  });

  it('says which artefacts a run lacks', async () => {
    const run = copy();
    run.engine.length = 0;
    run.clients.clear();
    await using written = await writeRun(run, { 'engine/local.jsonl': [] });
    await rm(path.join(written.folder, 'engine'), { recursive: true });
    const verdict = await check(written.folder);
    const reason = (id: string) => verdict.invariants.find(({ invariant }) => invariant === id)?.notChecked;
    expect(reason('I8')).toBe('the run has no artefacts in engine, only in etcd, metrics, faults');
    expect(reason('I25')).toBe('the run has no artefacts in clients, only in etcd, metrics, faults');
  });

  it('rejects a run without the history that run.json names', async () => {
    const run = copy();
    await using written = await writeRun(run);
    await rm(path.join(written.folder, 'etcd/etcd-0.jsonl'));
    await expect(check(written.folder)).rejects.toThrow('etcd/etcd-0.jsonl is missing: run.json names the member');
  });

  it('has a mutation for each invariant', () => {
    const all = Array.from({ length: 35 }, (_, i) => `I${i + 1}`);
    expect(new Set(MUTATIONS.map(({ invariant }) => invariant))).toEqual(new Set(all));
  });
});
