import { startApiServer, type TestApiServer } from '@gantry/apiserver/testing';
import { createHttpClient, type HttpClient, parseKubeconfig } from '@gantry/client';
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  isReason,
  type KubeObject,
  type Resource,
} from '@gantry/objects';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineKind, type ObjectOf, withRules } from './define-kind.ts';

const { signal } = new AbortController();

const BACKUPS = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Backup',
  shortNames: ['bk'],
  spec: z.object({
    schedule: z.string().min(1).describe('When to run'),
    keep: z.int().min(1).default(3),
    mode: z.enum(['Full', 'Incremental']).optional(),
    level: z.union([z.literal('low'), z.literal('high')]).optional(),
    port: withRules(z.union([z.int(), z.string()]).optional(), [{ rule: 'self != 22', message: 'is that of SSH' }]),
    labels: z.record(z.string(), z.string()).optional(),
    anything: z.unknown().optional(),
    note: z.string().nullable().optional(),
  }),
  status: z.object({ lastRun: z.string().optional(), runs: z.int() }),
  rules: [{ rule: 'self.spec.keep <= 100', message: 'keeps at most 100' }],
  columns: [{ name: 'Schedule', path: '.spec.schedule', description: 'When it runs' }],
});
type Backup = ObjectOf<typeof BACKUPS>;

/** A definition is served soon after it was created. */
async function eventually(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      if (attempt === 500 || !isReason(error, 'NotFound')) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('a kind that is defined by Zod', () => {
  let server: TestApiServer;
  let client: HttpClient;
  beforeAll(async () => {
    server = await startApiServer();
    client = createHttpClient({ ...parseKubeconfig(server.kubeconfig), fieldManager: 'test' });
    await client.create(CUSTOM_RESOURCE_DEFINITIONS, BACKUPS.definition, signal);
    await eventually(() => create('first', { schedule: '@daily' }));
  });
  afterAll(async () => {
    client[Symbol.dispose]();
    await server.stop();
  });
  const create = (name: string, spec: object): Promise<Backup> => {
    const object = { apiVersion: 'example.com/v1', kind: 'Backup', metadata: { name, namespace: 'default' }, spec };
    return client.create(BACKUPS, object as Backup, signal);
  };
  const refusal = (spec: object): Promise<string> =>
    create('refused', { schedule: 'x', ...spec }).then(() => 'accepted', String);

  it('is accepted by the API server as a structural schema, with columns and short names', async () => {
    const key = { namespace: '', name: 'backups.example.com' };
    const stored: CustomResourceDefinition = await client.get(CUSTOM_RESOURCE_DEFINITIONS, key, signal);
    const conditions = stored.status?.conditions?.map(({ type, status }) => `${type} ${status}`);
    expect(conditions).toEqual(expect.arrayContaining(['Established True', 'NamesAccepted True']));
    expect(conditions).not.toContain('NonStructuralSchema True');
    const version = stored.spec.versions[0];
    expect(version?.additionalPrinterColumns?.map(({ name }) => name)).toEqual(['Schedule']);
    expect(stored.status?.acceptedNames?.shortNames).toEqual(['bk']);
  });

  it('sets defaults, and has them in the type of its objects', async () => {
    const { spec } = await client.get(BACKUPS, { namespace: 'default', name: 'first' }, signal);
    const keep: number = spec.keep;
    expect([keep, spec.mode]).toEqual([3, undefined]);
  });

  it('refuses what the schema and the rules forbid', async () => {
    expect(await refusal({ schedule: '' })).toContain('spec.schedule');
    expect(await refusal({ keep: 0 })).toContain('spec.keep');
    expect(await refusal({ mode: 'Half' })).toContain('supported values: "Full", "Incremental"');
    expect(await refusal({ level: 'middle' })).toContain('supported values: "low", "high"');
    expect(await refusal({ keep: 101 })).toContain('keeps at most 100');
    expect(await refusal({ port: 22 })).toContain('is that of SSH');
    expect(await refusal({ port: true })).toContain('spec.port');
    expect(await refusal({ labels: { a: 1 } })).toContain('spec.labels');
  });

  it('accepts integers and strings, maps, null and values of any form', async () => {
    const spec = {
      schedule: 'x',
      port: 'http',
      labels: { a: 'b' },
      anything: { deep: [1, 'two'] },
      note: null,
      keep: 2 ** 33 - 2 ** 33 + 5,
    };
    expect((await create('rich', spec)).spec).toEqual(spec);
  });

  it('has a status of its own', async () => {
    const created = await create('with-status', { schedule: 'x' });
    const written = await client.updateStatus(BACKUPS, { ...created, status: { runs: 1 } }, signal);
    expect(written.status).toEqual({ runs: 1 });
    const bad = client.updateStatus(BACKUPS, { ...written, status: { runs: 'many' as never } }, signal);
    await expect(bad).rejects.toThrow('status.runs');
  });
});

describe('a kind that cannot be defined', () => {
  const of =
    (spec: z.ZodObject, names: object = {}) =>
    (): Resource<KubeObject> =>
      defineKind({ group: 'example.com', version: 'v1', kind: 'Thing', spec, ...names });

  it('names the field', () => {
    expect(of(z.object({ a: z.object({ b: z.union([z.string(), z.boolean()]) }) }))).toThrow(
      'spec.a.b: a structural schema has no unions',
    );
    expect(of(z.object({ a: z.tuple([z.string(), z.boolean()]) }))).toThrow(
      'spec.a[]: a structural schema has no unions',
    );
    expect(of(z.object({ a: z.date() }))).toThrow(/^spec: .*[Dd]ate/);
    expect(of(z.object({ a: z.string().meta({ contains: {} }) }))).toThrow(
      'spec.a: a structural schema has no `contains`',
    );
    expect(of(z.object({ a: z.union([z.literal('x'), z.literal(1)]) }))).toThrow(
      'spec.a: literals of one field have one type',
    );
  });

  it('has names that the API server would refuse', () => {
    const spec = z.object({});
    expect(of(spec, { kind: 'thing' })).toThrow('kind: "thing" must be in PascalCase');
    expect(of(spec, { plural: 'Things' })).toThrow('plural: "Things" must be in lower case');
    expect(of(spec, { group: 'example' })).toThrow('group: "example" must be a DNS name');
    expect(of(spec, { version: '1' })).toThrow('version: "1" must be like v1');
  });
});
