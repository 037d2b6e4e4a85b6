import { readFileSync } from 'node:fs';
import type { Deployment, ReplicaSet } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { sizeAnnotations } from './annotations.ts';
import { rollingBounds } from './replica-sets.ts';
import { isScaling, proportionalSizes, type Resize, rollingSizes } from './scaling.ts';

interface Size {
  readonly replicas: number;
  readonly maxSurge?: number | string;
  readonly maxUnavailable?: number | string;
}
/** The sizes, also in `expected`, are those of the new set, if there is one, and of the old sets from newer to older. */
interface Proportional {
  readonly name: string;
  readonly from: Size;
  readonly to: Size;
  readonly new?: number;
  readonly newAvailable?: number;
  readonly old: readonly number[];
  /** The size of the Deployment that a set, given by its place, was scaled for, when it is not `from`. */
  readonly sizedFor?: Readonly<Record<string, number>>;
  readonly expected: readonly number[];
}
interface Rolling extends Required<Size> {
  readonly name: string;
  readonly old: number;
  readonly new: number;
  readonly oldAvailable: number;
  readonly newAvailable: number;
  readonly expected: readonly number[];
}
interface Tables {
  readonly proportional: readonly Proportional[];
  readonly rolling: readonly Rolling[];
  readonly bounds: readonly (Required<Size> & { expected: object })[];
}

const TABLES = JSON.parse(readFileSync(new URL('./sizes.json', import.meta.url), 'utf8')) as Tables;

function deployment({ replicas, maxSurge = 0, maxUnavailable = 0 }: Size): Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'site' },
    spec: {
      replicas,
      selector: {},
      template: {},
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
    },
  };
}

/** A ReplicaSet. A higher `place` means an older set. */
function set(place: number, replicas: number, annotations: Record<string, string> = {}, available = 0): ReplicaSet {
  const creationTimestamp = `2026-01-01T00:00:${String(59 - place).padStart(2, '0')}Z`;
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: `v${9 - place}`, creationTimestamp, annotations },
    spec: { replicas, selector: {} },
    status: { replicas, availableReplicas: available },
  };
}

const resized = (sets: readonly ReplicaSet[], sizes: readonly Resize[]) =>
  sets.map((one) => sizes.find((size) => size.set === one)?.replicas ?? one.spec?.replicas);

it.each(TABLES.proportional)('scaling in proportion: $name', (row) => {
  const { maxSurge } = rollingBounds(deployment(row.from));
  const annotations = (place: number) => sizeAnnotations(row.sizedFor?.[place] ?? row.from.replicas, maxSurge);
  const newSet = row.new === undefined ? undefined : set(0, row.new, annotations(0), row.newAvailable);
  const old = row.old.map((replicas, i) => set(i + 1, replicas, annotations(i + 1)));
  const all = newSet === undefined ? old : [newSet, ...old];
  expect(resized(all, proportionalSizes(deployment(row.to), newSet, old))).toEqual(row.expected);
});

it.each(TABLES.rolling)('a step of a rolling update: $name', (row) => {
  const newSet = set(0, row.new, {}, row.newAvailable);
  const old = set(1, row.old, {}, row.oldAvailable);
  expect(resized([newSet, old], rollingSizes(deployment(row), newSet, [old]))).toEqual(row.expected);
});

it.each(TABLES.bounds)('$replicas pods, surge $maxSurge, unavailable $maxUnavailable', (row) => {
  expect(rollingBounds(deployment(row))).toEqual(row.expected);
});

describe('whether a Deployment was scaled', () => {
  const sized = (text: string, replicas = 3) =>
    isScaling(deployment({ replicas: 3 }), [set(0, replicas, { 'deployment.kubernetes.io/desired-replicas': text })]);

  it('shows in the size that an active set was sized for', () => {
    expect(sized('4')).toBe(true);
    expect(sized('3')).toBe(false);
    expect(sized('4', 0)).toBe(false);
  });

  it('does not show in an annotation that is no number of pods', () => {
    for (const text of ['', 'many', '-4', '4.5', '+4', '4294967296']) expect(sized(text)).toBe(false);
  });
});
