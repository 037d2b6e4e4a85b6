import { isReason, type KubeObject } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CONFIG_MAPS, declare, defineKind, mutating, spoke, validating, withVersions } from '../index.ts';
import { type ObjectsReader, simulate, type Step } from './index.ts';

const V1 = defineKind({ group: 'example.com', version: 'v1', kind: 'Copy', spec: z.object({ every: z.string() }) });
const V2 = defineKind({
  group: 'example.com',
  version: 'v2',
  kind: 'Copy',
  spec: z.object({ schedule: z.string(), keep: z.int().optional() }),
});
const COPIES = withVersions(V2, [
  spoke(V2, V1, {
    toHub: ({ spec: { every } }) => ({ spec: { schedule: every } }),
    fromHub: ({ spec: { schedule } }) => ({ spec: { every: schedule } }),
  }),
]);
const admission = [
  validating({
    name: 'schedule.copies.example.com',
    for: COPIES,
    validate: (request) =>
      request.operation !== 'DELETE' && request.object.spec.schedule === 'never' ? { denied: 'never is no time' } : {},
  }),
  mutating({
    name: 'keep.copies.example.com',
    for: COPIES,
    operations: ['CREATE'],
    mutate: ({ object }) => ({ ...object, spec: { keep: 3, ...object.spec } }),
  }),
];
const operator = () => ({
  name: 'copies',
  webhooks: { admission, conversions: [COPIES] },
  controllers: [
    declare({
      name: 'copies',
      for: COPIES,
      owns: [CONFIG_MAPS],
      desire: ({ object: { metadata, spec } }) => {
        const data = { text: `${spec.keep} at ${spec.schedule}` };
        return { objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: metadata.name ?? '' }, data }] };
      },
    }),
  ],
});
const old: KubeObject & { readonly spec: object } = {
  apiVersion: 'example.com/v1',
  kind: 'Copy',
  metadata: { name: 'db', namespace: 'default' },
  spec: { every: 'hour' },
};

describe('a simulation calls the webhooks of the operator', () => {
  it('to convert and to change what a history writes', async () => {
    let texts: (string | undefined)[] = [];
    const current = { ...old, apiVersion: 'example.com/v2', metadata: { ...old.metadata, name: 'new' } };
    const report = await simulate({
      operator,
      kinds: [COPIES],
      objects: [old, { ...current, spec: { schedule: 'day' } }],
      seeds: 5,
      atEnd: (objects: ObjectsReader) => void (texts = objects.all(CONFIG_MAPS).map(({ data }) => data?.['text'])),
    });
    expect(report.text).toBe('');
    // What a webhook sets is lost, as in a cluster, if the version that is written cannot say it.
    expect(texts.toSorted()).toEqual(['3 at day', 'undefined at hour']);
  });

  it('to refuse what a history writes, in each version', async () => {
    const refusals: string[] = [];
    const refused =
      (write: Step): Step =>
      async (...args) => {
        try {
          await write(...args);
        } catch (error) {
          if (!isReason(error, 'Forbidden')) throw error;
          refusals.push(error.message);
        }
      };
    const key = { namespace: 'default', name: 'db' };
    const report = await simulate({
      operator,
      kinds: [COPIES],
      objects: [old],
      steps: [
        refused((client, signal) => client.patch(COPIES, key, { merge: { spec: { schedule: 'never' } } }, signal)),
        refused((client, signal) => client.patch(V1, key, { merge: { spec: { every: 'never' } } }, signal)),
      ],
      faults: 'none',
      seeds: [],
    });
    expect(report.text).toBe('');
    const message = 'admission webhook "schedule.copies.example.com" denied the request: never is no time';
    expect(refusals).toEqual([message, message]);
  });

  it('and reports one that refuses a deletion by the garbage collector', async () => {
    const stays = validating({
      name: 'stays.copies.example.com',
      for: CONFIG_MAPS,
      operations: ['DELETE'],
      validate: () => ({ denied: 'it stays' }),
    });
    const report = await simulate({
      operator: () => ({ ...operator(), webhooks: { admission: [...admission, stays], conversions: [COPIES] } }),
      kinds: [COPIES],
      objects: [old],
      steps: [
        (client, signal) => client.delete(COPIES, { namespace: 'default', name: 'db' }, {}, signal),
        // Nothing happens here; the clock goes on.
        async () => {},
      ],
      faults: 'none',
      seeds: [],
    });
    expect(report.text).toContain("the garbage collector's write is refused: ");
    expect(report.text).toContain('denied the request: it stays');
  });

  it('and reports a webhook that fails as the API server does', async () => {
    const broken = validating({
      name: 'broken.copies.example.com',
      for: COPIES,
      validate: () => {
        throw new RangeError('out of range');
      },
    });
    const report = await simulate({
      operator: () => ({ ...operator(), webhooks: { admission: [broken], conversions: [COPIES] } }),
      kinds: [COPIES],
      objects: [old],
      seeds: 1,
    });
    expect(report.text).toContain('failed calling webhook "broken.copies.example.com"');
    expect(report.text).toContain('out of range');
  });
});
