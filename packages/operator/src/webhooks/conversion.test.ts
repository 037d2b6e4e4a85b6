import type { KubeObject } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineKind } from '../define-kind.ts';
import { lostByConversion } from '../testing/index.ts';
import { spoke, withVersions } from './conversion.ts';

const backups = <S extends z.ZodObject>(version: string, spec: S, plural = 'backups') =>
  defineKind({ group: 'example.com', version, kind: 'Backup', plural, spec });
const V1 = backups('v1', z.object({ every: z.string() }));
const V2 = backups('v2', z.object({ schedule: z.string() }));
const V3 = backups('v3', z.object({ cron: z.string() }));
const BACKUPS = withVersions(V2, [
  spoke(V2, V1, {
    toHub: ({ spec }) => ({ spec: { schedule: spec.every } }),
    fromHub: ({ spec }) => ({ spec: { every: spec.schedule } }),
    deprecationWarning: 'example.com/v1 Backup is deprecated',
  }),
  spoke(V2, V3, {
    toHub: ({ spec, metadata }) => ({ spec: { schedule: spec.cron }, metadata: { labels: metadata.labels ?? {} } }),
    fromHub: ({ spec }) => ({ spec: { cron: spec.schedule }, metadata: { annotations: { by: 'conversion' } } }),
  }),
]);
const object = (apiVersion: string, spec: object): KubeObject & { spec: object } => {
  return { apiVersion, kind: 'Backup', metadata: { name: 'db', uid: 'u', labels: { a: 'b' } }, spec };
};

describe('a kind in several versions', () => {
  it('stores that of the hub, and warns of deprecated ones', () => {
    const versions = BACKUPS.definition.spec.versions.map(({ name, storage, served, deprecated = false }) => {
      return { name, storage, served, deprecated };
    });
    expect(versions).toEqual([
      { name: 'v2', storage: true, served: true, deprecated: false },
      { name: 'v1', storage: false, served: true, deprecated: true },
      { name: 'v3', storage: false, served: true, deprecated: false },
    ]);
  });

  it('converts from and to the hub, and over it', () => {
    expect(BACKUPS.convert(object('example.com/v1', { every: '@daily' }), 'example.com/v2')).toEqual(
      object('example.com/v2', { schedule: '@daily' }),
    );
    const { metadata, spec } = BACKUPS.convert(
      object('example.com/v1', { every: '@daily' }),
      'example.com/v3',
    ) as ReturnType<typeof object>;
    expect([metadata.annotations, metadata.labels, spec]).toEqual([
      { by: 'conversion' },
      { a: 'b' },
      { cron: '@daily' },
    ]);
  });

  it('names a version that there is not, and versions that do not fit', () => {
    expect(() => BACKUPS.convert(object('example.com/v9', {}), 'example.com/v2')).toThrow(
      'Backup: has no version example.com/v9',
    );
    const same = { toHub: () => ({ spec: { schedule: '' } }), fromHub: () => ({ spec: { every: '' } }) };
    const other = backups('v1', z.object({ every: z.string() }), 'copies');
    expect(() => withVersions(V2, [spoke(V2, other, same)])).toThrow('Backup v1: resource: differs from that of v2');
    expect(() => withVersions(V2, [spoke(V2, V1, same), spoke(V2, V1, same)])).toThrow('Backup v1: is there twice');
  });
});

describe('lostByConversion', () => {
  it('names what does not come back as it was', () => {
    const kept = object('example.com/v1', { every: '@daily' });
    const lost = { ...object('example.com/v2', { schedule: '@daily', keep: 3 }), metadata: { name: 'two' } };
    expect(lostByConversion(BACKUPS, [kept])).toEqual([
      'db: example.com/v1 over example.com/v3: metadata.annotations: nothing becomes {"by":"conversion"}',
    ]);
    expect(lostByConversion(BACKUPS, [lost])).toEqual([
      'two: example.com/v2 over example.com/v1: spec.keep: 3 becomes nothing',
      'two: example.com/v2 over example.com/v3: metadata.annotations: nothing becomes {"by":"conversion"}, spec.keep: 3 becomes nothing',
    ]);
  });

  it('takes empty labels and annotations as none', () => {
    const emptied = { labels: {}, annotations: {} };
    const kind = withVersions(V2, [
      spoke(V2, V1, {
        toHub: ({ spec }) => ({ spec: { schedule: spec.every }, metadata: emptied }),
        fromHub: ({ spec }) => ({ spec: { every: spec.schedule }, metadata: emptied }),
      }),
    ]);
    const bare = { ...object('example.com/v1', { every: '@daily' }), metadata: { name: 'db' } };
    expect(lostByConversion(kind, [bare])).toEqual([]);
    const labelled = object('example.com/v1', { every: '@daily' });
    expect(kind.convert(labelled, 'example.com/v2').metadata).toEqual({ name: 'db', uid: 'u' });
  });
});
