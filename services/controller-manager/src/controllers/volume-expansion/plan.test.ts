import { readFileSync } from 'node:fs';
import type { PersistentVolume, PersistentVolumeClaim } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { growsClaim, planExpansionReport } from './plan.ts';

/** The size that a claim requests, and its capacity. */
type Sizes = readonly [request: string | null, capacity?: string];

interface Cases {
  readonly reports: readonly {
    readonly name: string;
    readonly claim: Sizes;
    readonly phase?: string;
    /** The namespace and uid of the claim that the volume is bound to. When absent, there is no volume. */
    readonly volumeOf?: string;
    /** The number of reports. */
    readonly want: number;
  }[];
  readonly changes: readonly {
    readonly name: string;
    readonly old: Sizes;
    readonly now: Sizes;
    readonly grows: boolean;
  }[];
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as Cases;

function claimOf([request, capacity]: Sizes, phase = 'Bound'): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { namespace: 'a', name: 'data', uid: 'u1' },
    spec: { resources: request === null ? {} : { requests: { storage: request } }, volumeName: 'v' },
    status: { phase, ...(capacity === undefined ? {} : { capacity: { storage: capacity } }) },
  };
}

function volumeOf(claim: string | undefined): PersistentVolume | undefined {
  if (claim === undefined) return undefined;
  const [namespace = '', uid = ''] = claim.split('/');
  const claimRef = { namespace, name: 'data', ...(uid === '' ? {} : { uid }) };
  const spec = claim === '' ? {} : { claimRef };
  return { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'v' }, spec };
}

const WAITS = {
  kind: 'report',
  reason: 'ExternalExpanding',
  message: 'waiting for an external controller to expand this PVC',
};

describe('reports a claim that waits for its volume to grow, here one that', () => {
  it.each(CASES.reports)('$name', ({ claim, phase, volumeOf: owner, want }) => {
    const volume = volumeOf(owner);
    expect(planExpansionReport(claimOf(claim, phase), volume)).toEqual({ actions: Array<unknown>(want).fill(WAITS) });
    // The report writes nothing. Once its volume has grown, the claim does not wait any more.
    const [request] = claim;
    const grown = claimOf([request, request ?? '0'], phase);
    expect(planExpansionReport(grown, volume)).toEqual({ actions: [] });
  });
});

describe('whether a claim is looked at again, when it', () => {
  it.each(CASES.changes)('$name', ({ old, now, grows }) => {
    expect(growsClaim(claimOf(now), claimOf(old))).toBe(grows);
  });
});
