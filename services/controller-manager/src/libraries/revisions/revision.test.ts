import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { CONTROLLER_REVISIONS, type ControllerRevision, type PodTemplateSpec, type StatefulSet } from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  excessRevisions,
  findPresent,
  isRevisionOf,
  newRevision,
  sortRevisions,
  templateOf,
  templatePatch,
} from './revision.ts';
import { createRevision, deleteRevision, renumberRevision } from './writes.shell.ts';

const template = (image: string): PodTemplateSpec => ({
  metadata: { labels: { app: 'a' } },
  spec: { containers: [{ name: 'c', image }] },
});
const owner: StatefulSet = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'web', namespace: 'n', uid: 'u-1', annotations: { note: 'x' } },
};

function revision(image: string, number: number, change: { name?: string; collisionCount?: number } = {}) {
  const { name, collisionCount } = change;
  const hashLabel = 'controller.kubernetes.io/hash';
  const made = newRevision({ owner, template: template(image), number, collisionCount, hashLabel });
  return name === undefined ? made : { ...made, metadata: { ...made.metadata, name } };
}

const names = (revisions: readonly ControllerRevision[]) => revisions.map(({ metadata }) => metadata.name);

describe('a revision', () => {
  it('is owned, labelled with the template and the hash in its name, and holds the annotations and a patch', () => {
    const { metadata, data, revision: number } = revision('app:1', 4);
    const hash = metadata.labels?.['controller.kubernetes.io/hash'];
    expect(metadata).toEqual({
      name: `web-${String(hash)}`,
      namespace: 'n',
      labels: { app: 'a', 'controller.kubernetes.io/hash': hash },
      annotations: { note: 'x' },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'StatefulSet',
          name: 'web',
          uid: 'u-1',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    });
    expect(data).toEqual({ spec: { template: { ...template('app:1'), $patch: 'replace' } } });
    expect(number).toBe(4);
  });

  it('has members in the order of their names, so that the bytes of its data are those that Go encodes', () => {
    const unsorted = {
      spec: { restartPolicy: 'Always', containers: [{ name: 'c', image: 'app:1', args: ['z', 'a'] }] },
      metadata: { labels: { zone: 'z', app: 'a' } },
    };
    expect(JSON.stringify(templatePatch(unsorted))).toBe(
      '{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"a","zone":"z"}},' +
        '"spec":{"containers":[{"args":["z","a"],"image":"app:1","name":"c"}],"restartPolicy":"Always"}}}}',
    );
  });

  it('has the hash in the label that is asked for', () => {
    const input = { owner, template: template('app:1'), number: 1, collisionCount: undefined };
    const { metadata } = newRevision({ ...input, hashLabel: 'controller-revision-hash' });
    expect(metadata.name).toBe(`web-${String(metadata.labels?.['controller-revision-hash'])}`);
  });

  it('has another name after a collision, and the same one for the same template', () => {
    const name = (image: string, collisionCount?: number) =>
      revision(image, 1, collisionCount === undefined ? {} : { collisionCount }).metadata.name;
    expect(name('app:1')).toBe(name('app:1'));
    expect(new Set([name('app:1'), name('app:1', 1), name('app:1', 2), name('app:2')]).size).toBe(4);
  });

  it('cuts a long prefix of its name', () => {
    const long = { ...owner, metadata: { ...owner.metadata, name: 'x'.repeat(300) } };
    const input = { template: template('a'), number: 1, collisionCount: 0 };
    const { metadata } = newRevision({ ...input, owner: long, hashLabel: 'controller-revision-hash' });
    expect(metadata.name).toMatch(/^x{223}-[a-z0-9]{10}$/);
  });

  it('brings the template back; data of another shape brings none', () => {
    expect(templateOf(revision('app:1', 1))).toEqual(template('app:1'));
    for (const data of [undefined, {}, { spec: null }, { spec: [] }, { spec: { template: 'x' } }]) {
      const other = { ...revision('app:1', 1), ...(data === undefined ? {} : { data }) };
      if (data === undefined) delete other.data;
      expect(templateOf(other)).toBeUndefined();
    }
  });

  it('is of the template with the same content, in any order of keys', () => {
    const stored = { ...revision('app:1', 1), data: JSON.parse(JSON.stringify(templatePatch(template('app:1')))) };
    expect(
      isRevisionOf(stored, {
        spec: { containers: [{ image: 'app:1', name: 'c' }] },
        metadata: { labels: { app: 'a' } },
      }),
    ).toBe(true);
    expect(isRevisionOf(stored, template('app:2'))).toBe(false);
  });
});

describe('the history', () => {
  const isPresent = (image: string) => (of: ControllerRevision) => isRevisionOf(of, template(image));

  it.each([
    ['nothing is there', [], { revision: undefined, number: 1 }],
    ['another template is the newest', [['b', 3]], { revision: undefined, number: 4 }],
    [
      'it is the newest',
      [
        ['b', 1],
        ['a', 2],
      ],
      { revision: 2, number: 2 },
    ],
    [
      'it was before',
      [
        ['a', 1],
        ['b', 2],
      ],
      { revision: 1, number: 3 },
    ],
    [
      'it shares its number',
      [
        ['a', 2],
        ['b', 2],
      ],
      { revision: 2, number: 3 },
    ],
    ['it is alone', [['a', 7]], { revision: 7, number: 7 }],
  ] as const)('numbers the present template when %s', (_, given, { revision: number, number: next }) => {
    const found = findPresent(
      given.map(([image, n]) => revision(image, n)),
      isPresent('a'),
    );
    expect([found.revision?.revision, found.number]).toEqual([number, next]);
  });

  it('keeps the newest of equal revisions and names the others', () => {
    const all = [
      revision('a', 3, { name: 'new' }),
      revision('a', 1, { name: 'old' }),
      revision('b', 2, { name: 'other' }),
    ];
    const found = findPresent(all, isPresent('a'));
    expect([found.revision?.metadata.name, names(found.duplicates), names(found.others)]).toEqual([
      'new',
      ['old'],
      ['other'],
    ]);
  });

  it('is sorted by number, creation and name', () => {
    const at = (name: string, number: number, creationTimestamp: string) => {
      const made = revision('a', number, { name });
      return { ...made, metadata: { ...made.metadata, creationTimestamp } };
    };
    const [first, second] = ['2030-01-01T00:00:00Z', '2030-01-02T00:00:00Z'];
    const sorted = sortRevisions([at('d', 2, first), at('c', 1, second), at('b', 1, first), at('a', 1, second)]);
    expect(names(sorted)).toEqual(['b', 'a', 'c', 'd']);
  });

  it.each([
    ['within the limit', 3, 'not live', []],
    ['beyond the limit', 1, 'not live', ['r1', 'r2']],
    ['none is kept', 0, 'not live', ['r1', 'r2', 'r4']],
    ['all are kept', -1, 'not live', []],
    ['live ones count', 2, 'all', ['r1', 'r2']],
    ['live ones count, more than there are to delete', 0, 'all', ['r1', 'r2', 'r4']],
  ] as const)('deletes the oldest that are not live: %s', (_, limit, counted, expected) => {
    const all = ['r4', 'r3', 'r2', 'r1'].map((name) => revision(name, Number(name.slice(1)), { name }));
    const isLive = ({ metadata }: ControllerRevision) => metadata.name === 'r3';
    expect(names(excessRevisions(all, { limit, isLive, counted }))).toEqual(expected);
  });

  it('never deletes what is live, keeps the limit, and has nothing to delete afterwards', () => {
    const numbers = fc.uniqueArray(fc.nat(40), { maxLength: 12 });
    fc.assert(
      fc.property(numbers, fc.nat(6), fc.nat(40), fc.constantFrom('all', 'not live'), (all, limit, live, counted) => {
        const revisions = all.map((number) => revision('a', number, { name: `r${number}` }));
        const bounds = { limit, counted, isLive: (of: ControllerRevision) => of.revision >= live } as const;
        const excess = excessRevisions(revisions, bounds);
        const left = revisions.filter((of) => !excess.includes(of));
        expect(excess.some(bounds.isLive)).toBe(false);
        expect(left.filter((of) => !bounds.isLive(of)).length).toBeLessThanOrEqual(limit);
        expect(excessRevisions(left, bounds)).toEqual([]);
      }),
      { seed: 1, numRuns: 200 },
    );
  });
});

describe('writes of revisions', () => {
  const signal = new AbortController().signal;
  const fake = () => new FakeObjectClient(new ManualClock());

  it('creates one, and takes the one that a crash left', async () => {
    const client = fake();
    const created = await createRevision(client, revision('a', 1), signal);
    expect(created?.metadata.uid).toBeDefined();
    expect(await createRevision(client, revision('a', 1), signal)).toEqual(created);
    expect(client.all(CONTROLLER_REVISIONS)).toHaveLength(1);
  });

  it('reports a name that another template has', async () => {
    const client = fake();
    const { name = '' } = revision('a', 1).metadata;
    await client.put(CONTROLLER_REVISIONS, revision('b', 1, { name }));
    expect(await createRevision(client, revision('a', 1), signal)).toBeUndefined();
  });

  it('does not renumber a revision that has changed since, nor delete a namesake', async () => {
    const client = fake();
    const old = await client.put(CONTROLLER_REVISIONS, revision('a', 1));
    const current = await renumberRevision(client, old, 5, signal);
    expect(current.revision).toBe(5);
    await expect(renumberRevision(client, old, 6, signal)).rejects.toMatchObject({ reason: 'Conflict' });
    const namesake = { ...current, metadata: { ...current.metadata, uid: 'another' } };
    await expect(deleteRevision(client, namesake, signal)).rejects.toMatchObject({ reason: 'Conflict' });
    await deleteRevision(client, current, signal);
    await deleteRevision(client, current, signal);
    expect(client.all(CONTROLLER_REVISIONS)).toEqual([]);
  });
});
