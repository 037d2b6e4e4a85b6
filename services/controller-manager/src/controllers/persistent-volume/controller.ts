import { ignoreNotFound, ignoreReasons } from '@gantry/client';
import { type ControllerContext, type ControllerSpec, type Result, resultOf } from '@gantry/controller-runtime';
import {
  classOfClaim,
  classOfVolume,
  formatKey,
  hasEnded,
  isReason,
  keyOf,
  type KubeObject,
  type ObjectKey,
  parseKey,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PODS,
  requestedClassOf,
  STORAGE_CLASSES,
  type StorageClass,
} from '@gantry/objects';
import { renewing } from '../../libraries/event-renewal.ts';
import { deleterOf, type VolumeMeter, type VolumeOperation } from '../../metrics/volumes.ts';
import { claimKeyOf, defaultClassOf, KnownObjects } from './known-objects.ts';
import { type Action, type ObservedClaim, type ObservedVolume, planClaim, planVolume } from './plan.ts';
import { needsRecycler } from './reclaim.ts';
import { Recyclers, RETRY_MS } from './recycler.shell.ts';

/**
 * Binds claims to volumes and reclaims volumes whose claims are gone. Keys are volumes and claims. One worker: otherwise two claims could
 * choose the same volume.
 */
export function createPersistentVolumeController(meter: VolumeMeter): ControllerSpec {
  const known = new KnownObjects();
  const recyclers = new Recyclers();
  const operations = new VolumeOperations(meter);
  return {
    name: 'persistent-volume',
    eventSource: 'persistentvolume-controller',
    workers: 1,
    watches: [
      { resource: PERSISTENT_VOLUMES, keys: (volume, old) => known.takeVolume(volume, old) },
      { resource: PERSISTENT_VOLUME_CLAIMS, keys: (claim, old) => known.takeClaim(claim, old) },
      { resource: PODS, keys: (pod, old) => known.takePod(pod, old) },
      {
        resource: STORAGE_CLASSES,
        keys: (now?: StorageClass, old?: StorageClass) =>
          [now, old].flatMap((one) => (one === undefined ? [] : known.unboundOf(one))),
      },
    ],
    begin: () => {
      known.clear();
      recyclers.clear();
      operations.clear();
    },
    end: () => meter.count(() => ({ volumes: [], claims: [] })),
    reconcile: async (key, context, signal) => {
      const shell: Shell = { known, recyclers, operations, meter, context, signal };
      meter.count(() => ({
        volumes: context.cache.list(PERSISTENT_VOLUMES),
        claims: context.cache.list(PERSISTENT_VOLUME_CLAIMS),
      }));
      const work =
        key.kind === 'PersistentVolumeClaim' ? bindClaim(formatKey(key), shell) : keepVolume(key.name, shell);
      // The event of the deleted object queues the other side of its binding.
      return (await ignoreReasons(work, ['NotFound'])) ?? {};
    },
  };
}

/** The context of a reconcile. */
interface Shell {
  readonly known: KnownObjects;
  readonly recyclers: Recyclers;
  readonly operations: VolumeOperations;
  readonly meter: VolumeMeter;
  readonly context: ControllerContext;
  readonly signal: AbortSignal;
}

async function bindClaim(key: string, shell: Shell): Promise<Result> {
  const { known, operations, context } = shell;
  const claim = known.claims.get(key);
  if (claim === undefined) {
    operations.forget(key);
    return {};
  }
  const observed = observeClaim(claim, shell);
  const { actions } = planClaim(observed);
  const plugin = provisionerIn(actions, observed.storageClass);
  if (plugin !== undefined) operations.begin(key, { name: 'provision', plugin }, context.clock.monotonicMs());
  const done = await measured(key, carryOutAll(actions, shell), shell);
  if (actions.some(isBinding)) operations.ended(key, context.clock.monotonicMs());
  return done;
}

/** The provisioner from which these actions request a volume. */
function provisionerIn(actions: readonly Action[], storageClass: StorageClass | undefined): string | undefined {
  const isAsked = actions.some((action) => action.kind === 'event' && action.reason === 'ExternalProvisioning');
  return isAsked ? storageClass?.provisioner : undefined;
}

function isBinding(action: Action): boolean {
  return action.kind === 'updateClaimStatus' && action.claim.status?.phase === 'Bound';
}

/** Counts a failure for the operation in progress. An object deleted meanwhile is not a failure. */
async function measured<T>(id: string, work: Promise<T>, { operations }: Shell): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!isReason(error, 'NotFound')) operations.failed(id);
    throw error;
  }
}

async function keepVolume(name: string, shell: Shell): Promise<Result> {
  const volume = shell.known.volumes.get(name);
  const { operations, context } = shell;
  const { clock } = context;
  if (volume === undefined) {
    shell.recyclers.forget(name);
    operations.ended(name, clock.monotonicMs());
    return {};
  }
  const observed = await observeVolume(volume, shell);
  const { recycler } = observed;
  if (recycler?.kind === 'own') await shell.recyclers.report(volume, recycler.pod, shell.context, shell.signal);
  const plan = planVolume(observed);
  if (isToBeDeleted(observed)) {
    const storageClass = context.cache.get(STORAGE_CLASSES, { namespace: '', name: classOfVolume(volume) });
    operations.begin(name, { name: 'delete', plugin: deleterOf(volume, storageClass) }, clock.monotonicMs());
  }
  const done = await measured(name, carryOutAll(plan.actions, shell), shell);
  if (plan.actions.some((action) => action.kind === 'event' && action.reason === 'VolumeFailedDelete')) {
    operations.failed(name);
  }
  if (plan.actions.some(({ kind }) => kind === 'delayRecycler')) return { requeueAfterMs: RETRY_MS };
  return plan.requeueAt === undefined ? done : resultOf(plan, clock);
}

/** Whether a volume's claim is gone and the volume is to be deleted. */
function isToBeDeleted({ volume: { spec }, claim }: ObservedVolume): boolean {
  return claim === undefined && (spec?.claimRef?.uid ?? '') !== '' && spec?.persistentVolumeReclaimPolicy === 'Delete';
}

function observeClaim(claim: PersistentVolumeClaim, { known, context: { cache } }: Shell): ObservedClaim {
  const key = formatKey(keyOf(claim));
  const className = classOfClaim(claim);
  const users = known.pods.in('claim', key).filter((pod) => !hasEnded(pod) && (pod.spec?.nodeName ?? '') === '');
  return {
    claim,
    volume: known.volumes.get(claim.spec?.volumeName ?? ''),
    candidates: [...known.volumes.in('claim', key), ...known.volumes.in('freeOfClass', className)],
    storageClass: cache.get(STORAGE_CLASSES, { namespace: '', name: className }),
    defaultClass: defaultClassOf(cache.list(STORAGE_CLASSES)),
    unscheduledPods: users.map(({ metadata }) => metadata.name ?? '').sort(),
  };
}

async function observeVolume(volume: PersistentVolume, shell: Shell): Promise<ObservedVolume> {
  const { known, recyclers, context, signal } = shell;
  if ((volume.spec?.claimRef?.uid ?? '') === '') return { volume, claim: undefined, users: [] };
  const key = claimKeyOf(volume);
  const claim = await findClaim(volume, parseKey(key), shell);
  // If another claim has the name, it has another volume: its pods do not use this one.
  const users = known.claims.get(key) === undefined ? known.pods.in('claim', key).filter((pod) => !hasEnded(pod)) : [];
  const observed = { volume, claim, users: users.map((pod) => formatKey(keyOf(pod))).sort() };
  if (claim !== undefined || !needsRecycler(volume)) return observed;
  return { ...observed, recycler: await recyclers.observe(volume, context, signal) };
}

/** The claim in a volume's reference. The store is read before a missing claim releases the volume, because the cache may be behind. */
async function findClaim(
  { spec, status }: PersistentVolume,
  key: ObjectKey,
  { known, context: { client }, signal }: Shell,
): Promise<PersistentVolumeClaim | undefined> {
  const claim = known.claims.get(formatKey(key));
  const isWanted = (one: PersistentVolumeClaim | undefined) => one?.metadata.uid === spec?.claimRef?.uid;
  if (isWanted(claim)) return claim;
  if (status?.phase === 'Released' || status?.phase === 'Failed') return undefined;
  const stored = await ignoreNotFound(client.get(PERSISTENT_VOLUME_CLAIMS, key, signal));
  return isWanted(stored) ? stored : undefined;
}

/** Executes actions in order. A second write of an object uses the version from the first. */
async function carryOutAll(actions: readonly Action[], shell: Shell): Promise<Result> {
  const versions = new Map<string, string>();
  for (const action of actions) await carryOutOne(action, versions, shell);
  return actions.some(({ kind }) => kind === 'event') ? renewing({}) : {};
}

type Versions = Map<string, string>;

async function carryOutOne(action: Action, versions: Versions, shell: Shell): Promise<void> {
  const { known, recyclers, meter, context, signal } = shell;
  const { client, events } = context;
  switch (action.kind) {
    case 'updateVolume': {
      const volume = newest(action.volume, versions);
      known.volumes.written(noted(await client.update(PERSISTENT_VOLUMES, volume, signal), versions));
      return;
    }
    case 'updateVolumeStatus': {
      const volume = newest(action.volume, versions);
      known.volumes.written(noted(await client.updateStatus(PERSISTENT_VOLUMES, volume, signal), versions));
      return;
    }
    case 'updateClaim': {
      const claim = newest(action.claim, versions);
      const getsClass =
        requestedClassOf(known.claims.get(formatKey(keyOf(claim))) ?? claim) !== requestedClassOf(claim);
      try {
        known.claims.written(noted(await client.update(PERSISTENT_VOLUME_CLAIMS, claim, signal), versions));
        if (getsClass) meter.retroactive('done');
      } catch (error) {
        if (getsClass) meter.retroactive('failed');
        throw error;
      }
      return;
    }
    case 'updateClaimStatus': {
      const claim = newest(action.claim, versions);
      known.claims.written(noted(await client.updateStatus(PERSISTENT_VOLUME_CLAIMS, claim, signal), versions));
      return;
    }
    case 'deleteVolume': {
      const { uid } = action.volume.metadata;
      await ignoreNotFound(client.delete(PERSISTENT_VOLUMES, keyOf(action.volume), { uid }, signal));
      return;
    }
    case 'createRecycler':
      await recyclers.create(action.volume, action.pod, context, signal);
      return;
    case 'deleteRecycler':
      await recyclers.delete(action.pod, context, signal);
      return;
    case 'delayRecycler':
      recyclers.delay(action.volume, context.clock.now());
      return;
    case 'forgetRecycler':
      recyclers.forget(action.volume.metadata.name ?? '');
      return;
    case 'event':
      events.event(action.about, action.type, action.reason, action.message);
      return;
  }
}

function newest<T extends KubeObject>(object: T, versions: Versions): T {
  const resourceVersion = versions.get(object.metadata.uid ?? '');
  return resourceVersion === undefined ? object : { ...object, metadata: { ...object.metadata, resourceVersion } };
}

function noted<T extends KubeObject>(written: T, versions: Versions): T {
  const { uid = '', resourceVersion } = written.metadata;
  if (resourceVersion !== undefined) versions.set(uid, resourceVersion);
  return written;
}

interface Begun extends VolumeOperation {
  readonly atMs: number;
}

/** The volumes that are being provisioned or deleted, and since when. An operation ends in a later reconcile. */
class VolumeOperations {
  readonly #meter: VolumeMeter;
  /** By the key of a claim that is being provisioned, or the name of a volume that is being deleted. */
  readonly #begun = new Map<string, Begun>();

  constructor(meter: VolumeMeter) {
    this.#meter = meter;
  }

  clear(): void {
    this.#begun.clear();
  }

  /** Starts an operation unless it has started already. */
  begin(id: string, operation: VolumeOperation, nowMs: number): void {
    if (!this.#begun.has(id)) this.#begun.set(id, { ...operation, atMs: nowMs });
  }

  /** Records a failed attempt; the operation continues. */
  failed(id: string): void {
    const begun = this.#begun.get(id);
    if (begun !== undefined) this.#meter.operationFailed(begun);
  }

  ended(id: string, nowMs: number): void {
    const begun = this.#begun.get(id);
    if (begun === undefined) return;
    this.#begun.delete(id);
    this.#meter.operationEnded(begun, (nowMs - begun.atMs) / 1000);
  }

  /** Forgets an operation whose object is gone. */
  forget(id: string): void {
    this.#begun.delete(id);
  }
}
