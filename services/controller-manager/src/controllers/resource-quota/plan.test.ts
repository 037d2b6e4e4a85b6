import { readFileSync } from 'node:fs';
import type { GroupResource, KubeObject, ResourceQuota } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { type CountedObject, planQuota } from './plan.ts';

/** A pod with one container that requests the given CPU, and further fields. */
interface PodCase {
  readonly pod: string;
  readonly phase: string;
  readonly metadata?: KubeObject['metadata'];
  readonly spec?: object;
  readonly status?: object;
}

/** An object of another resource. */
interface OtherCase {
  readonly of: string;
  readonly spec: object;
  readonly status?: object;
}

type Status = NonNullable<ResourceQuota['status']>;

interface Case {
  readonly name: string;
  /** When it is absent, there is no quota. */
  readonly quota?: {
    readonly spec: { readonly hard: Record<string, string> };
    readonly status?: Status;
    readonly deleting?: boolean;
  };
  readonly objects: readonly (PodCase | OtherCase)[];
  /** Resources that cannot be listed. */
  readonly unknown?: readonly string[];
  /** The used amounts of the written status. When absent, nothing is written. */
  readonly want: { readonly used?: Readonly<Record<string, string>>; readonly againInMs?: number };
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];
const NOW = Date.parse('2030-01-01T00:01:00Z');

function resourceOf(name: string): GroupResource {
  const [resource = '', ...group] = name.split('.');
  return { group: group.join('.'), resource };
}

function countedOf(one: PodCase | OtherCase): CountedObject {
  if ('of' in one) {
    const { of, ...fields } = one;
    return {
      of: resourceOf(of),
      object: { apiVersion: 'v1', kind: of, metadata: { name: 'o', namespace: 'n' }, ...fields },
    };
  }
  const { pod: cpu, phase, metadata, spec, status } = one;
  const object = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'n', ...metadata },
    spec: { containers: [{ name: 'c', resources: { requests: { cpu } } }], ...spec },
    status: { phase, ...status },
  };
  return { of: resourceOf('pods'), object };
}

function quotaOf({ quota }: Case): ResourceQuota | undefined {
  if (quota === undefined) return undefined;
  const { deleting = false, ...fields } = quota;
  const metadata = { name: 'q', namespace: 'n', ...(deleting ? { deletionTimestamp: '2030-01-01T00:00:00Z' } : {}) };
  return { apiVersion: 'v1', kind: 'ResourceQuota', metadata, ...fields };
}

describe('the status of a quota', () => {
  it.each(CASES)('$name', (one) => {
    const { objects, unknown = [], want } = one;
    const quota = quotaOf(one);
    const observed = { quota, objects: objects.map(countedOf), unknown: unknown.map(resourceOf) };
    const { actions, requeueAt } = planQuota(observed, NOW);
    const status = { hard: one.quota?.spec.hard, used: want.used };
    expect(actions).toEqual(want.used === undefined ? [] : [{ kind: 'updateStatus', status }]);
    expect(requeueAt).toBe(want.againInMs === undefined ? undefined : NOW + want.againInMs);
    // Once the actions are carried out, no more are planned.
    for (const action of actions) {
      const then = quota === undefined ? undefined : { ...quota, status: action.status };
      expect(planQuota({ ...observed, quota: then }, NOW).actions).toEqual([]);
    }
  });
});
