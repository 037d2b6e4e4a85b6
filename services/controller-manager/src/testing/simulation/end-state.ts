import { JOBS, type KubeObject } from '@gantry/objects';
import { controllerOf } from '../../controllers/ownership.ts';
import type { World } from './world.ts';

/** What neither has an end nor says what was wanted: heartbeats, leaders, Events, and the machinery of the server. */
const UNCOMPARED: ReadonlySet<string> = new Set([
  '/events',
  'events.k8s.io/events',
  'coordination.k8s.io/leases',
  '/nodes',
]);

/** Fields that say when, by whom and how often, not what. */
const MASKED: ReadonlySet<string> = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'observedGeneration',
  'managedFields',
  'creationTimestamp',
  'startTime',
  'completionTime',
  'nodeName',
  // Of a Job.
  'failed',
  // Of a quota: an invariant compares it with what there is.
  'used',
  // Of a pod of a DaemonSet: which of several alike templates it was made from.
  'pod-template-generation',
]);

/** Also in labels and selectors. */
const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** The pod that a disruption budget names when it cannot be counted is the first of random names. */
const NAMED_POD = /(?<=found no controllers for pod )\\"[^"]*\\"/;

/**
 * The end of a history in a form that two runs can be compared by: one line for each object, without uids, times and suffixes. Pods are
 * counted for each owner, since their names are random.
 */
export function endState(world: World): readonly string[] {
  const lines: string[] = [];
  for (const [resource, object] of world.everything()) {
    if (UNCOMPARED.has(resource) || isByChance(world, resource, object)) continue;
    const { namespace = '', name = '' } = object.metadata;
    const shown = resource === '/pods' ? podOf(object) : JSON.stringify(masked(object));
    lines.push(
      `${resource} ${namespace}/${nameOf(object, name)} ${shown}`.replaceAll(UID, 'uid').replace(NAMED_POD, ''),
    );
  }
  return lines.sort();
}

/** How many pods of a Job fail, and which schedules of a CronJob fall into a history, depends on when things happen. */
function isByChance(world: World, resource: string, object: KubeObject): boolean {
  const owner = controllerOf(object);
  if (owner?.kind === 'CronJob') return true;
  if (resource !== '/pods' || owner?.kind !== 'Job') return false;
  const job = world.get(JOBS, object.metadata.namespace ?? '', owner.name);
  const isScheduled = job !== undefined && controllerOf(job)?.kind === 'CronJob';
  return isScheduled || (object as KubeObject & { status?: { phase?: string } }).status?.phase === 'Failed';
}

/** The name, without the suffix that a server has generated. */
function nameOf({ metadata }: KubeObject, name: string): string {
  const prefix = metadata.generateName;
  return prefix === undefined || !name.startsWith(prefix) ? name : `${prefix}*`;
}

/** What a controller decides of a pod, and how far it has come. */
function podOf(object: KubeObject): string {
  const { metadata, spec, status } = object as KubeObject & {
    spec?: { containers?: { image?: string }[] };
    status?: { phase?: string; conditions?: { type: string; status: string }[] };
  };
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'unknown';
  const owner = controllerOf(object)?.name ?? 'none';
  const { labels = {}, annotations = {}, finalizers = [] } = metadata;
  const image = spec?.containers?.map(({ image: one }) => one).join();
  const leaving = metadata.deletionTimestamp === undefined ? '' : ' leaving';
  // Of what was left behind, how far an update had come is chance.
  if (owner === 'none') return `of none ${status?.phase} ready=${ready}${leaving} ${JSON.stringify(finalizers)}`;
  const shown = JSON.stringify({ labels: masked(labels), annotations, finalizers });
  return `of ${owner} ${image} ${status?.phase} ready=${ready}${leaving} ${shown}`;
}

/** The value without masked fields and times, with its keys in order. */
function masked(value: unknown): unknown {
  if (Array.isArray(value))
    return value
      .filter((item) => !isPassing(item))
      .map(masked)
      .sort(byType);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value)
    .filter(([key]) => !MASKED.has(key) && !/(Time|Timestamp)$/.test(key))
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, masked(inner)]));
}

/** Whether this is the condition of a Job that was suspended for a moment, or as it ended: its controller need not have seen it. */
function isPassing(value: unknown): boolean {
  return ((value ?? {}) as { type?: unknown }).type === 'Suspended';
}

/** Conditions by their type: each is added when it is first known. The order of other lists is kept. */
function byType(one: unknown, other: unknown): number {
  const [left, right] = [typeOf(one), typeOf(other)];
  return left === right ? 0 : left < right ? -1 : 1;
}

function typeOf(value: unknown): string {
  const isCondition = value !== null && typeof value === 'object' && 'type' in value && 'status' in value;
  return isCondition ? String(value.type) : '';
}
