import { readFileSync } from 'node:fs';
import {
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  formatKey,
  keyOf,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
  type StorageClass,
} from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Action } from './action.ts';
import { claimKeyOf, defaultClassOf } from './known-objects.ts';
import { planClaim, planVolume } from './plan.ts';
import type { Recycler } from './recycle.ts';

interface VolumeCase {
  readonly name: string;
  readonly size: string;
  readonly modes?: string[];
  readonly mode?: string;
  readonly class?: string;
  readonly attributes?: string;
  readonly policy?: string;
  readonly path?: string;
  /** The driver of a CSI volume. When absent, the volume is a folder of the host. */
  readonly driver?: string;
  readonly phase?: string;
  /** `name` or `name:uid` of a claim. */
  readonly claimRef?: string;
  readonly byController?: boolean;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
}

interface ClaimCase {
  readonly name: string;
  readonly size: string;
  readonly modes?: string[];
  readonly class?: string;
  readonly attributes?: string;
  readonly volume?: string;
  readonly phase?: string;
  readonly completed?: boolean;
  readonly deleted?: boolean;
  readonly byController?: boolean;
  readonly selector?: Record<string, string>;
  readonly annotations?: Record<string, string>;
}

interface Case {
  readonly name: string;
  readonly volumes: readonly VolumeCase[];
  readonly claims: readonly ClaimCase[];
  readonly classes?: readonly {
    readonly name: string;
    readonly provisioner: string;
    readonly binding?: string;
    readonly default?: boolean;
    readonly created?: string;
  }[];
  readonly pods?: readonly {
    readonly name: string;
    readonly claim: string;
    readonly node?: string;
    readonly phase?: string;
  }[];
  /** How the pods that recycle volumes end. */
  readonly recycling?: 'Succeeded' | 'Failed';
  /** Whether a pod with the name of a recycler exists already. */
  readonly found?: boolean;
  /** The volumes and then the claims at the end. */
  readonly want: readonly string[];
  readonly events?: readonly string[];
}

const CASES = JSON.parse(readFileSync(new URL('./cases.json', import.meta.url), 'utf8')) as readonly Case[];

function volumeOf(one: VolumeCase): PersistentVolume {
  const [claim, uid] = one.claimRef?.split(':') ?? [];
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name: one.name,
      uid: `uid-${one.name}`,
      ...(one.labels === undefined ? {} : { labels: one.labels }),
      annotations: { ...(one.byController === true ? { [BOUND_BY_CONTROLLER]: 'yes' } : {}), ...one.annotations },
    },
    spec: {
      capacity: { storage: one.size },
      accessModes: one.modes ?? ['ReadWriteOnce'],
      volumeMode: one.mode ?? 'Filesystem',
      persistentVolumeReclaimPolicy: one.policy ?? 'Retain',
      ...(one.driver === undefined
        ? { hostPath: { path: one.path ?? '/tmp/data' } }
        : { csi: { driver: one.driver, volumeHandle: 'x' } }),
      ...(one.class === undefined ? {} : { storageClassName: one.class }),
      ...(one.attributes === undefined ? {} : { volumeAttributesClassName: one.attributes }),
      ...(claim === undefined
        ? {}
        : { claimRef: { namespace: 'ns', name: claim, ...(uid === undefined ? {} : { uid }) } }),
    },
    status: { phase: one.phase ?? 'Pending' },
  };
}

function claimOf(one: ClaimCase): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      namespace: 'ns',
      name: one.name,
      uid: `uid-${one.name}`,
      ...(one.deleted === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
      annotations: {
        ...(one.completed === true ? { [BIND_COMPLETED]: 'yes' } : {}),
        ...(one.byController === true ? { [BOUND_BY_CONTROLLER]: 'yes' } : {}),
        ...one.annotations,
      },
    },
    spec: {
      accessModes: one.modes ?? ['ReadWriteOnce'],
      resources: { requests: { storage: one.size } },
      ...(one.class === undefined ? {} : { storageClassName: one.class }),
      ...(one.attributes === undefined ? {} : { volumeAttributesClassName: one.attributes }),
      ...(one.volume === undefined ? {} : { volumeName: one.volume }),
      ...(one.selector === undefined ? {} : { selector: { matchLabels: one.selector } }),
    },
    status: { phase: one.phase ?? 'Pending' },
  };
}

/** Volumes, claims and pods whose plans are carried out one write at a time. */
class World {
  readonly volumes = new Map<string, PersistentVolume>();
  readonly claims = new Map<string, PersistentVolumeClaim>();
  readonly #classes: readonly StorageClass[];
  readonly #pods: readonly Pod[];
  readonly events = new Set<string>();
  writes = 0;
  #recycler: Recycler = { kind: 'none' };
  readonly #recycling: string;

  constructor({ volumes, claims, classes = [], pods = [], recycling, found = false }: Omit<Case, 'name' | 'want'>) {
    for (const one of volumes) this.volumes.set(one.name, volumeOf(one));
    this.#recycling = recycling ?? 'Running';
    if (found) this.#recycler = { kind: 'unknown', pod: { apiVersion: 'v1', kind: 'Pod', metadata: {} } };
    for (const one of claims) this.claims.set(`ns/${one.name}`, claimOf(one));
    this.#classes = classes.map((one) => ({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: {
        name: one.name,
        annotations: { 'storageclass.kubernetes.io/is-default-class': String(one.default === true) },
        ...(one.created === undefined ? {} : { creationTimestamp: one.created }),
      },
      provisioner: one.provisioner,
      volumeBindingMode: one.binding ?? 'Immediate',
    }));
    this.#pods = pods.map(({ name, claim, node, phase }) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'ns', name },
      spec: {
        containers: [],
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: claim } }],
        ...(node === undefined ? {} : { nodeName: node }),
      },
      status: { phase: phase ?? 'Pending' },
    }));
  }

  /** The keys of all objects. */
  keys(): readonly string[] {
    return [...this.volumes.keys(), ...this.claims.keys()];
  }

  plan(key: string): readonly Action[] {
    const claim = this.claims.get(key);
    if (claim !== undefined) return this.#planClaim(claim);
    const volume = this.volumes.get(key);
    return volume === undefined ? [] : this.#planVolume(volume);
  }

  /** Carries out at most `limit` writes, and then crashes. */
  act(actions: readonly Action[], limit = Number.POSITIVE_INFINITY): void {
    let done = 0;
    for (const action of actions) {
      if (action.kind === 'event') {
        this.events.add(`${action.about.metadata.name} ${action.type} ${action.reason} ${action.message}`);
        continue;
      }
      if (done++ >= limit) return;
      this.writes++;
      this.#write(action);
    }
  }

  /** Plans and acts for every object until nothing is written any more. */
  settle(): void {
    for (let round = 0, before = -1; before !== this.writes; round++) {
      if (round > 20) throw new Error('no end of writes');
      before = this.writes;
      for (const key of this.keys()) this.act(this.plan(key));
    }
  }

  #planClaim(claim: PersistentVolumeClaim): readonly Action[] {
    const name = claim.spec?.storageClassName ?? '';
    const users = this.#podsOf(formatKey(keyOf(claim))).filter(({ spec }) => spec?.nodeName === undefined);
    return planClaim({
      claim,
      volume: this.volumes.get(claim.spec?.volumeName ?? ''),
      candidates: [...this.volumes.values()],
      storageClass: this.#classes.find(({ metadata }) => metadata.name === name),
      defaultClass: defaultClassOf(this.#classes),
      unscheduledPods: users.map(({ metadata }) => metadata.name ?? '').sort(),
    }).actions;
  }

  #planVolume(volume: PersistentVolume): readonly Action[] {
    const claim = this.claims.get(claimKeyOf(volume));
    const isSame = claim?.metadata.uid === volume.spec?.claimRef?.uid;
    const users = claim === undefined ? this.#podsOf(claimKeyOf(volume)).map((pod) => formatKey(keyOf(pod))) : [];
    const recycler = this.#recycler;
    return planVolume({ volume, claim: isSame ? claim : undefined, users, recycler }).actions;
  }

  #podsOf(claim: string): readonly Pod[] {
    const name = claim.slice('ns/'.length);
    return this.#pods.filter(
      ({ spec, status }) =>
        spec?.volumes?.[0]?.persistentVolumeClaim?.claimName === name && status?.phase !== 'Succeeded',
    );
  }

  #write(action: Exclude<Action, { kind: 'event' }>): void {
    switch (action.kind) {
      case 'updateVolume':
      case 'updateVolumeStatus': {
        const name = action.volume.metadata.name ?? '';
        const { status } = action.kind === 'updateVolume' ? (this.volumes.get(name) ?? action.volume) : action.volume;
        const base = action.kind === 'updateVolume' ? action.volume : (this.volumes.get(name) ?? action.volume);
        this.volumes.set(name, { ...base, ...(status === undefined ? {} : { status }) });
        return;
      }
      case 'updateClaim':
      case 'updateClaimStatus': {
        const key = formatKey(keyOf(action.claim));
        const { status } = action.kind === 'updateClaim' ? (this.claims.get(key) ?? action.claim) : action.claim;
        const base = action.kind === 'updateClaim' ? action.claim : (this.claims.get(key) ?? action.claim);
        this.claims.set(key, { ...base, ...(status === undefined ? {} : { status }) });
        return;
      }
      case 'createRecycler':
        this.#recycler = { kind: 'own', pod: { ...action.pod, status: { phase: this.#recycling } } };
        this.events.add(`created ${action.pod.metadata.namespace}/${action.pod.metadata.name}`);
        return;
      case 'deleteRecycler':
      case 'forgetRecycler':
        this.#recycler = { kind: 'none' };
        return;
      case 'delayRecycler':
        this.#recycler = { kind: 'failed', nextAt: 1 };
        return;
      case 'deleteVolume': {
        const { metadata } = action.volume;
        const stored = this.volumes.get(metadata.name ?? '') ?? action.volume;
        const deletionTimestamp = '2026-01-01T00:00:00Z';
        this.volumes.set(metadata.name ?? '', { ...stored, metadata: { ...metadata, deletionTimestamp } });
        return;
      }
    }
  }
}

function describeVolume({ metadata, spec, status }: PersistentVolume): string {
  const { name = '', uid } = spec?.claimRef ?? {};
  return [
    metadata.name,
    status?.phase,
    ...(spec?.claimRef === undefined ? [] : [`<- ${name}${uid === undefined ? '' : `:${uid}`}`]),
    ...(metadata.annotations?.[BOUND_BY_CONTROLLER] === undefined ? [] : ['by-controller']),
    ...(metadata.deletionTimestamp === undefined ? [] : ['deleted']),
  ].join(' ');
}

function describeClaim({ metadata, spec, status }: PersistentVolumeClaim, given: ClaimCase): string {
  const { annotations = {} } = metadata;
  const { storageClassName } = spec ?? {};
  return [
    metadata.name,
    status?.phase,
    ...(spec?.volumeName === undefined ? [] : [`-> ${spec.volumeName}`]),
    ...Object.values(status?.capacity ?? {}),
    ...(annotations[BIND_COMPLETED] === undefined ? [] : ['completed']),
    ...(annotations[BOUND_BY_CONTROLLER] === undefined ? [] : ['by-controller']),
    ...(storageClassName === given.class ? [] : [`class=${storageClassName}`]),
    ...(annotations[STORAGE_PROVISIONER] === undefined ? [] : [`provisioner=${annotations[STORAGE_PROVISIONER]}`]),
    ...(status?.currentVolumeAttributesClassName === undefined
      ? []
      : [`attributes=${status.currentVolumeAttributesClassName}`]),
  ].join(' ');
}

describe('volumes and claims', () => {
  it.each(CASES.map((one) => [one.name, one] as const))('%s', (_, one) => {
    const world = new World(one);
    world.settle();
    const claims = one.claims.map((given) => {
      const claim = world.claims.get(`ns/${given.name}`);
      return claim === undefined ? '' : describeClaim(claim, given);
    });
    expect([...[...world.volumes.values()].map(describeVolume), ...claims]).toEqual(one.want);
    expect([...world.events].sort()).toEqual([...(one.events ?? [])].sort());
  });
});

const SIZES = fc.constantFrom('1Gi', '2Gi', '3Gi');
const CLASSES = fc.constantFrom('late', 'fast', '');
const arbitraryWorld = fc
  .record({
    volumes: fc.array(fc.record({ size: SIZES, class: CLASSES, claimRef: fc.constantFrom('', 'c0', 'c1:uid-c1') }), {
      maxLength: 5,
    }),
    claims: fc.array(
      fc.record({ size: SIZES, class: CLASSES, volume: fc.constantFrom('', '', 'v0', 'v1'), selected: fc.boolean() }),
      { maxLength: 4 },
    ),
  })
  .map(({ volumes, claims }) => () => {
    const world = new World({
      volumes: volumes.map(({ claimRef, ...one }, i) => ({
        ...one,
        name: `v${i}`,
        ...(claimRef === '' ? {} : { claimRef }),
      })),
      claims: claims.map(({ volume, selected, ...one }, i) => ({
        ...one,
        name: `c${i}`,
        ...(volume === '' ? {} : { volume }),
        ...(selected ? { annotations: { [SELECTED_NODE]: 'n' } } : {}),
      })),
      classes: [
        { name: 'late', provisioner: 'example.org/p', binding: 'WaitForFirstConsumer' },
        { name: 'fast', provisioner: 'example.org/p' },
      ],
    });
    return world;
  });
/** Which object acts next, and how many of its writes are carried out before the process is killed. */
const arbitraryHistory = fc.array(fc.record({ turn: fc.nat(20), writes: fc.nat(4) }), { maxLength: 20 });

describe('any history of volumes and claims', () => {
  it('ends with whole bindings, each volume with one claim, and no more writes', () => {
    fc.assert(
      fc.property(arbitraryWorld, arbitraryHistory, (create, history) => {
        const world = create();
        for (const { turn, writes } of history) {
          const keys = world.keys();
          if (keys.length > 0) world.act(world.plan(keys[turn % keys.length] ?? ''), writes);
        }
        world.settle();
        expectWhole(world);
      }),
      { seed: 11, numRuns: 500 },
    );
  });
});

function expectWhole({ volumes, claims }: World): void {
  for (const claim of claims.values()) {
    if (claim.status?.phase !== 'Bound') continue;
    const volume = volumes.get(claim.spec?.volumeName ?? '');
    expect(volume?.spec?.claimRef?.uid).toBe(claim.metadata.uid);
    expect(volume?.status?.phase).toBe('Bound');
    expect(claim.metadata.annotations?.[BIND_COMPLETED]).toBe('yes');
  }
  for (const volume of volumes.values()) {
    const bound = [...claims.values()].filter(
      ({ spec, status }) => status?.phase === 'Bound' && spec?.volumeName === volume.metadata.name,
    );
    expect(bound.length).toBeLessThanOrEqual(1);
    if (volume.status?.phase === 'Bound') expect(bound).toHaveLength(1);
  }
}
