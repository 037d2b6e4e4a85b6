import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineKind } from './index.ts';
import { typesOf } from './types-of.ts';

const { definition } = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'BackupPolicy',
  plural: 'backuppolicies',
  scope: 'Cluster',
  description: 'When to save.\nAnd what.',
  spec: z.object({
    schedule: z.string().meta({ description: 'As of cron: */5' }),
    mode: z.enum(['full', 'partial']).optional(),
    targets: z.array(z.object({ name: z.string(), 'max-size': z.union([z.int(), z.string()]).optional() })),
    labels: z.record(z.string(), z.string()).optional(),
    sizes: z.array(z.number()).optional(),
    until: z.string().nullable().optional(),
    free: z.any().optional(),
  }),
  status: z.object({ ready: z.boolean().optional() }),
});

it('prints the type and the resource of a definition', () => {
  expect(typesOf([definition])).toBe(`import type { KubeObject, Resource } from '@gantry/operator';

/**
 * When to save.
 * And what.
 */
export type BackupPolicy = KubeObject & {
  spec: {
    /** As of cron: *\\/5 */
    schedule: string;
    mode?: "full" | "partial";
    targets: Array<{
      name: string;
      "max-size"?: number | string;
    }>;
    labels?: Record<string, string>;
    sizes?: number[];
    until?: string | null;
    free?: unknown;
  };
  status?: {
    ready?: boolean;
  };
};
export const BACKUP_POLICIES: Resource<BackupPolicy> = {
  group: "example.com",
  version: "v1",
  resource: "backuppolicies",
  kind: "BackupPolicy",
  namespaced: false,
};
`);
});

describe('the version', () => {
  const [one] = definition.spec.versions;
  const versions = (...all: readonly (readonly [string, boolean, boolean])[]) => ({
    ...definition,
    spec: {
      ...definition.spec,
      versions: all.flatMap(([name, served, storage]) =>
        one === undefined ? [] : [{ ...one, name, served, storage }],
      ),
    },
  });
  it.each([
    [
      [
        ['v1beta1', true, false],
        ['v1', true, true],
      ],
      'v1',
    ],
    [
      [
        ['v1', false, true],
        ['v1beta1', true, false],
      ],
      'v1beta1',
    ],
  ] as const)('of %j is %s', (all, name) => expect(typesOf([versions(...all)])).toContain(`version: "${name}"`));

  it('must be one that is served', () =>
    expect(() => typesOf([versions(['v1', false, true])])).toThrow('backuppolicies.example.com: no version is served'));
});

it.each([
  ['Backup', 'BACKUPS'],
  ['Ingress', 'INGRESSES'],
  ['DNSRecord', 'DNS_RECORDS'],
  ['Gateway', 'GATEWAYS'],
])('the resource of %s is %s', (kind, constant) => {
  const named = { ...definition, spec: { ...definition.spec, names: { ...definition.spec.names, kind } } };
  expect(typesOf([named])).toContain(`export const ${constant}: Resource<${kind}>`);
});
