import { formatTime, type Instant } from '@gantry/base';
import {
  controllerReference,
  type ControllerRevision,
  type PersistentVolumeClaim,
  type Pod,
  type PodTemplateSpec,
  type StatefulSet,
  type StatefulSetSpec,
} from '@gantry/objects';
import { newRevision } from '../../../libraries/revisions/revision.ts';
import { newPod } from '../identity.ts';

export const NOW: Instant = Date.parse('2030-01-01T00:00:00Z');

export function template(image: string): PodTemplateSpec {
  return { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image }] } };
}

/** The set `web` with the image `new`, three replicas and a rolling update, as the API server defaults it. */
export function statefulSet(spec: Partial<StatefulSetSpec> = {}, status?: StatefulSet['status']): StatefulSet {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'web', namespace: 'n', uid: 'set', generation: 1, resourceVersion: '1' },
    spec: {
      replicas: 3,
      serviceName: 'sv',
      podManagementPolicy: 'OrderedReady',
      revisionHistoryLimit: 10,
      selector: { matchLabels: { app: 'a' } },
      template: template('new'),
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      ...spec,
    },
    ...(status === undefined ? {} : { status }),
  };
}

/** A revision of the set with this image, named by the image. */
export function revision(set: StatefulSet, image: string, number: number): ControllerRevision {
  const hashLabel = 'controller.kubernetes.io/hash';
  const made = newRevision({ owner: set, template: template(image), number, collisionCount: 0, hashLabel });
  return { ...made, metadata: { ...made.metadata, name: image, uid: `revision-${image}`, resourceVersion: '1' } };
}

/** A claim template of this name. */
export function claimTemplate(name: string): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, labels: { kept: 'yes' } },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    status: { phase: 'Pending' },
  };
}

/**
 * A pod of the set, described by words: `pending`, `running`, `ready` (for a minute), `recent` (ready for five seconds),
 * `failed` or `succeeded`; `terminating`; `free` (without a controller), `unlabelled`, `unmounted`, `relabelled` (not
 * selected); the name of its revision otherwise.
 */
export function podOf(set: StatefulSet, name: string, words: readonly string[]): Pod {
  const revisionName = words.find((word) => !STATES.has(word)) ?? '';
  const ordinal = Number(/\d+$/.exec(name)?.[0]);
  const pod = newPod(set, { name: revisionName, template: template(revisionName) }, ordinal);
  pod.metadata = { ...pod.metadata, name, uid: `${name}-uid`, resourceVersion: '1' };
  if (words.includes('free')) pod.metadata.ownerReferences = [];
  if (words.includes('unlabelled')) delete pod.metadata.labels?.['statefulset.kubernetes.io/pod-name'];
  if (words.includes('relabelled')) pod.metadata.labels = { ...pod.metadata.labels, app: 'b' };
  if (words.includes('unmounted')) delete pod.spec?.volumes;
  if (words.includes('terminating')) pod.metadata.deletionTimestamp = formatTime(NOW);
  setState(pod, words.find((word) => PHASES.has(word)) ?? 'pending', NOW);
  return pod;
}

/** Sets the status that a kubelet reports in this state. Changes the pod. */
export function setState(pod: Pod, state: string, now: Instant): void {
  const [phase = 'Pending', readySeconds] = PHASES.get(state) ?? [];
  pod.status = { phase };
  if (readySeconds === undefined) return;
  const lastTransitionTime = formatTime(now - readySeconds * 1000);
  pod.status.conditions = [{ type: 'Ready', status: 'True', lastTransitionTime }];
}

const PHASES: ReadonlyMap<string, readonly [string, number?]> = new Map([
  ['pending', ['Pending']],
  ['running', ['Running']],
  ['ready', ['Running', 60]],
  ['recent', ['Running', 5]],
  ['failed', ['Failed']],
  ['succeeded', ['Succeeded']],
] as const);
const STATES = new Set([...PHASES.keys(), 'terminating', 'free', 'unlabelled', 'relabelled', 'unmounted']);

/** A claim of the set with owners: `set`, `pod`, `old-set` and `old-pod` (deleted objects with the same names), `other` (a controller). */
export function claimOf(set: StatefulSet, name: string, words: readonly string[]): PersistentVolumeClaim {
  const ordinal = name.split('-').at(-1) ?? '';
  const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: `web-${ordinal}`, uid: `web-${ordinal}-uid` } };
  const owners = {
    set: controllerReference(set),
    'old-set': { ...controllerReference(set), uid: 'gone' },
    pod: controllerReference(pod),
    'old-pod': { ...controllerReference(pod), uid: 'gone' },
    other: { apiVersion: 'v1', kind: 'Other', name: 'other', uid: 'other', controller: true },
    // An owner that does not control.
    'weak-set': { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 'set' },
    friend: { apiVersion: 'v1', kind: 'Other', name: 'friend', uid: 'friend' },
  };
  const ownerReferences = words.flatMap((word) => (word in owners ? [owners[word as keyof typeof owners]] : []));
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name,
      namespace: 'n',
      uid: `${name}-uid`,
      resourceVersion: '1',
      ...(ownerReferences.length === 0 ? {} : { ownerReferences }),
      ...(words.includes('terminating') ? { deletionTimestamp: formatTime(NOW) } : {}),
    },
  };
}
