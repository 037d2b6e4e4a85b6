import type { Pod, PodTemplateSpec, StatefulSet } from '@gantry/objects';
import { podFromTemplate } from '../../libraries/pods/pod-template.ts';
import { mountClaims } from './claims.ts';

export const POD_NAME_LABEL = 'statefulset.kubernetes.io/pod-name';
const POD_INDEX_LABEL = 'apps.kubernetes.io/pod-index';
/** The label with the name of the pod's revision. */
export const REVISION_LABEL = 'controller-revision-hash';

/** The maximum ordinal: the first ordinal and the number of pods have 31 bits each. */
const MAX_ORDINAL = 2 ** 32;

/** The ordinals of a set's pods: `count` ordinals starting at `start`. */
export interface OrdinalRange {
  readonly start: number;
  readonly count: number;
}

export function ordinalRange({ spec }: StatefulSet): OrdinalRange {
  return { start: spec?.ordinals?.start ?? 0, count: spec?.replicas ?? 1 };
}

export function isInRange(ordinal: number, { start, count }: OrdinalRange): boolean {
  return ordinal >= start && ordinal < start + count;
}

export function podName(set: StatefulSet, ordinal: number): string {
  return `${set.metadata.name ?? ''}-${ordinal}`;
}

/**
 * The ordinal in a pod's name; undefined if the set does not use that name. Two names never have the same ordinal: `web-01` is not a pod of
 * `web`.
 */
export function ordinalOf(set: StatefulSet, pod: Pod): number | undefined {
  const name = pod.metadata.name ?? '';
  const ordinal = Number(/-(\d+)$/.exec(name)?.[1] ?? NaN);
  return ordinal <= MAX_ORDINAL && name === podName(set, ordinal) ? ordinal : undefined;
}

export function revisionOf(pod: Pod): string | undefined {
  return pod.metadata.labels?.[REVISION_LABEL];
}

/** Whether a pod of the set has the label with its own name. */
export function hasIdentity(pod: Pod): boolean {
  return pod.metadata.labels?.[POD_NAME_LABEL] === pod.metadata.name;
}

/** Gives a pod the labels of its identity. Changes the pod. */
export function labelIdentity(pod: Pod, ordinal: number): void {
  const { name = '' } = pod.metadata;
  pod.metadata.labels = { ...pod.metadata.labels, [POD_NAME_LABEL]: name, [POD_INDEX_LABEL]: String(ordinal) };
}

/** A template and the name of its revision. */
export interface TemplateRevision {
  readonly name: string;
  readonly template: PodTemplateSpec | undefined;
}

/** A new pod of an ordinal: name, host name, subdomain, labels and volumes are derived from the set and the ordinal. */
export function newPod(set: StatefulSet, { name: revision, template }: TemplateRevision, ordinal: number): Pod {
  const pod = podFromTemplate(template, set);
  const name = podName(set, ordinal);
  pod.metadata.name = name;
  labelIdentity(pod, ordinal);
  pod.metadata.labels = { ...pod.metadata.labels, [REVISION_LABEL]: revision };
  const { serviceName = '' } = set.spec ?? {};
  const { hostname: _, subdomain: __, ...spec } = pod.spec ?? { containers: [] };
  pod.spec = { ...spec, hostname: name, ...(serviceName === '' ? {} : { subdomain: serviceName }) };
  mountClaims(set, pod, ordinal);
  return pod;
}
