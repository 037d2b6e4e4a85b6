import { readFileSync } from 'node:fs';
import type { PersistentVolumeClaim, Pod } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { type Action, hasEphemeralVolumes, planEphemeralVolumes } from './plan.ts';

/** The template of the claim of an ephemeral volume. */
interface Template {
  readonly storage: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
}

interface Case {
  readonly name: string;
  readonly deleting?: boolean;
  /** The pod's volumes, by name. */
  readonly volumes?: Readonly<Record<string, Template | 'emptyDir'>>;
  /** Claims that exist, by name, with their owner. */
  readonly claims?: Readonly<Record<string, { readonly uid: string; readonly controller: boolean } | 'of a user'>>;
  readonly want: readonly string[];
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];
const OWNER = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'uid-p', controller: true, blockOwnerDeletion: true };
const specOf = (storage: string) => ({ accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } });

function volumeOf(name: string, template: Template | 'emptyDir') {
  if (template === 'emptyDir') return { name, emptyDir: {} };
  const { storage, ...metadata } = template;
  return { name, ephemeral: { volumeClaimTemplate: { metadata, spec: specOf(storage) } } };
}

function podOf({ deleting = false, volumes }: Case): Pod {
  const list = Object.entries(volumes ?? {}).map(([name, template]) => volumeOf(name, template));
  const deletion = deleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'ns', name: 'p', uid: 'uid-p', ...deletion },
    spec: { containers: [], ...(volumes === undefined ? {} : { volumes: list }) },
  };
}

function claimsOf({ claims = {} }: Case): Map<string, PersistentVolumeClaim> {
  const claimOf = (name: string, owner: 'of a user' | { readonly uid: string; readonly controller: boolean }) => {
    const ownerReferences = owner === 'of a user' ? [] : [{ apiVersion: 'v1', kind: 'Pod', name: 'p', ...owner }];
    return {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { namespace: 'ns', name, ...(owner === 'of a user' ? {} : { ownerReferences }) },
    };
  };
  return new Map(Object.entries(claims).map(([name, owner]) => [name, claimOf(name, owner)]));
}

function describeAction(action: Action): string {
  if (action.kind === 'refuse') return `refuse ${action.volume}: ${action.message}`;
  const { metadata, spec } = action.claim;
  return `create ${metadata.name} of ${spec?.resources?.requests?.['storage']}`;
}

describe('the claims of ephemeral volumes', () => {
  it.each(CASES)('$name', (one) => {
    const [pod, claims] = [podOf(one), claimsOf(one)];
    const { actions } = planEphemeralVolumes(pod, (name) => claims.get(name));
    expect(actions.map(describeAction)).toEqual(one.want);
    expect(actions.length === 0 || hasEphemeralVolumes(pod)).toBe(true);
    for (const action of actions) {
      if (action.kind !== 'createClaim') continue;
      const { volume, claim } = action;
      const template = one.volumes?.[volume];
      if (template === undefined || template === 'emptyDir') throw new TypeError(`${volume} needs no claim`);
      const { storage, ...metadata } = template;
      expect(claim).toEqual({
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { namespace: 'ns', name: `p-${volume}`, ownerReferences: [OWNER], ...metadata },
        spec: specOf(storage),
      });
      claims.set(claim.metadata.name ?? '', claim);
    }
    // After that, no more claims are created. A name that is taken is reported each time, without a write.
    const again = planEphemeralVolumes(pod, (name) => claims.get(name)).actions;
    expect(again.map(describeAction)).toEqual(one.want.filter((action) => action.startsWith('refuse')));
  });

  it('are looked for in pods that have such volumes', () => {
    expect(hasEphemeralVolumes(podOf({ name: '', volumes: { a: { storage: '1Gi' } }, want: [] }))).toBe(true);
    expect(hasEphemeralVolumes(podOf({ name: '', volumes: { a: 'emptyDir' }, want: [] }))).toBe(false);
    expect(hasEphemeralVolumes(podOf({ name: '', want: [] }))).toBe(false);
  });
});
