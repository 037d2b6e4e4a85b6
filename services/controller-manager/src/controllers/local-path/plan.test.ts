import { readFileSync } from 'node:fs';
import {
  LOCAL_PATH,
  type Node,
  type PersistentVolumeClaim,
  type PersistentVolume,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
} from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { LOCAL_PATH_CLASS, type ObservedClaim, planLocalPath } from './plan.ts';

interface Case {
  readonly name: string;
  readonly selected?: string;
  readonly spec?: NonNullable<PersistentVolumeClaim['spec']>;
  readonly provisioner?: string;
  readonly nodes?: readonly string[];
  readonly want: readonly string[];
}

const CASES = JSON.parse(readFileSync(new URL('./cases.json', import.meta.url), 'utf8')) as readonly Case[];

const node = (name: string): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { 'kubernetes.io/hostname': name, 'gantry.dev/engine': 'e' } },
});

function claimOf({ selected, spec, provisioner = LOCAL_PATH }: Omit<Case, 'name' | 'want'>): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      namespace: 'ns',
      name: 'c',
      uid: 'u',
      annotations: {
        [STORAGE_PROVISIONER]: provisioner,
        ...(selected === undefined ? {} : { [SELECTED_NODE]: selected }),
      },
    },
    spec: {
      storageClassName: 'local-path',
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      ...spec,
    },
  };
}

const planned = (observed: ObservedClaim) =>
  planLocalPath(observed).actions.map((action) =>
    action.kind === 'event' ? `${action.type} ${action.reason} ${action.message}` : action.kind,
  );

describe('a claim of a folder on a node', () => {
  it.each(CASES.map((one) => [one.name, one] as const))('%s', (_, one) => {
    const { selected, nodes = ['n'], want } = one;
    const observed = {
      claim: claimOf(one),
      volume: undefined,
      storageClass: LOCAL_PATH_CLASS,
      node: selected !== undefined && nodes.includes(selected) ? node(selected) : undefined,
    };
    expect(planned(observed)).toEqual(want);
  });

  it('gets a volume that is bound to it, is reached from its node alone, and lies where no claim can say', () => {
    const claim = claimOf({ selected: 'n' });
    const observed = { claim, volume: undefined, storageClass: LOCAL_PATH_CLASS, node: node('n') };
    const made = planLocalPath(observed).actions.flatMap((action) =>
      action.kind === 'createVolume' ? [action.volume] : [],
    );
    expect(made).toEqual([
      expect.objectContaining({
        metadata: {
          name: 'pvc-u',
          labels: { 'kubernetes.io/hostname': 'n', 'gantry.dev/engine': 'e' },
          annotations: {
            'pv.kubernetes.io/provisioned-by': 'rancher.io/local-path',
            'pv.kubernetes.io/bound-by-controller': 'yes',
          },
        },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          volumeMode: 'Filesystem',
          storageClassName: 'local-path',
          persistentVolumeReclaimPolicy: 'Delete',
          claimRef: { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace: 'ns', name: 'c', uid: 'u' },
          local: { path: '/var/lib/gantry/volumes/pvc-u' },
          nodeAffinity: {
            required: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['n'] }] },
              ],
            },
          },
        },
      }),
    ]);
    expect(planned({ ...observed, volume: made[0] })).toEqual([]);
  });
});

describe('a bound claim that asks for more', () => {
  const volume: PersistentVolume = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'pvc-u', annotations: { 'pv.kubernetes.io/provisioned-by': LOCAL_PATH } },
    spec: { capacity: { storage: '1Gi' }, claimRef: { uid: 'u' } },
  };
  const bound = (request: string, capacity: string): PersistentVolumeClaim => ({
    ...claimOf({ spec: { volumeName: 'pvc-u', resources: { requests: { storage: request } } } }),
    status: { phase: 'Bound', capacity: { storage: capacity } },
  });
  const observe = (request: string, capacity: string, size: string): ObservedClaim => ({
    claim: bound(request, capacity),
    volume: { ...volume, spec: { ...volume.spec, capacity: { storage: size } } },
    storageClass: LOCAL_PATH_CLASS,
    node: undefined,
  });

  it('gets it: the volume first, then its status, and after a crash in between the rest', () => {
    const events = [
      'Normal Resizing External resizer is resizing volume pvc-u',
      'Normal VolumeResizeSuccessful Resize volume succeeded',
    ];
    expect(planned(observe('2Gi', '1Gi', '1Gi'))).toEqual([events[0], 'growVolume', 'updateClaimStatus', events[1]]);
    expect(planned(observe('2Gi', '1Gi', '2Gi'))).toEqual([events[0], 'updateClaimStatus', events[1]]);
    expect(planned(observe('2Gi', '2Gi', '2Gi'))).toEqual([]);
    expect(planned(observe('2048Mi', '2Gi', '2Gi'))).toEqual([]);
  });

  it("is not served from another claim's volume, or from one that was made elsewhere", () => {
    const observed = observe('2Gi', '1Gi', '1Gi');
    expect(
      planned({ ...observed, volume: { ...volume, spec: { ...volume.spec, claimRef: { uid: 'other' } } } }),
    ).toEqual([]);
    expect(planned({ ...observed, volume: { ...volume, metadata: { name: 'pvc-u' } } })).toEqual([]);
  });
});
