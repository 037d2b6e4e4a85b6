import {
  cloneJson,
  type DaemonSet,
  DISK_PRESSURE_TAINT,
  findUntoleratedTaint,
  matchesNodeAffinity,
  MEMORY_PRESSURE_TAINT,
  NETWORK_UNAVAILABLE_TAINT,
  type Node,
  NOT_READY_TAINT,
  PID_PRESSURE_TAINT,
  type Pod,
  type PodSpec,
  type PodTemplateSpec,
  type Toleration,
  UNREACHABLE_TAINT,
  UNSCHEDULABLE_TAINT,
} from '@gantry/objects';
import { podFromTemplate } from '../../libraries/pods/pod-template.ts';

const NAME_FIELD = 'metadata.name';
export const HASH_LABEL = 'controller-revision-hash';
const GENERATION_LABEL = 'pod-template-generation';
const GENERATION_ANNOTATION = 'deprecated.daemonset.template.generation';

/** Tolerations that a set's pods get in addition to the template's: they stay on nodes with problems. */
const TOLERATIONS: readonly Toleration[] = [
  { key: NOT_READY_TAINT, operator: 'Exists', effect: 'NoExecute' },
  { key: UNREACHABLE_TAINT, operator: 'Exists', effect: 'NoExecute' },
  { key: DISK_PRESSURE_TAINT, operator: 'Exists', effect: 'NoSchedule' },
  { key: MEMORY_PRESSURE_TAINT, operator: 'Exists', effect: 'NoSchedule' },
  { key: PID_PRESSURE_TAINT, operator: 'Exists', effect: 'NoSchedule' },
  { key: UNSCHEDULABLE_TAINT, operator: 'Exists', effect: 'NoSchedule' },
];
const HOST_NETWORK_TOLERATION: Toleration = {
  key: NETWORK_UNAVAILABLE_TAINT,
  operator: 'Exists',
  effect: 'NoSchedule',
};

/** `run`: the node should have a pod. `keep`: an existing pod may stay, no new one is created. `leave`: no pod may be there. */
export type Placement = 'run' | 'keep' | 'leave';

/** Decides about nodes for one set, as Kubernetes' NodeShouldRunDaemonPod. The scheduler checks resources and ports. */
export function placementOf(set: DaemonSet): (node: Node) => Placement {
  const spec = set.spec?.template.spec;
  const nodeName = spec?.nodeName ?? '';
  const tolerations = podTolerations(spec);
  return (node) => {
    if (nodeName !== '' && nodeName !== node.metadata.name) return 'leave';
    if (!matchesNodeAffinity(spec, node)) return 'leave';
    const { taints } = node.spec ?? {};
    if (findUntoleratedTaint(taints, tolerations, ['NoSchedule', 'NoExecute']) === undefined) return 'run';
    return findUntoleratedTaint(taints, tolerations, ['NoExecute']) === undefined ? 'keep' : 'leave';
  };
}

/** The tolerations of the set's pods. A toleration of the template that differs only in its seconds is replaced. */
function podTolerations(spec: PodSpec | undefined): Toleration[] {
  const added = spec?.hostNetwork === true ? [...TOLERATIONS, HOST_NETWORK_TOLERATION] : TOLERATIONS;
  const tolerations = [...(spec?.tolerations ?? [])];
  for (const toleration of added) {
    const index = tolerations.findIndex((other) => isSameToleration(other, toleration));
    if (index < 0) tolerations.push({ ...toleration });
    else tolerations[index] = { ...toleration };
  }
  return tolerations;
}

function isSameToleration(a: Toleration, b: Toleration): boolean {
  return a.key === b.key && a.operator === b.operator && a.effect === b.effect && (a.value ?? '') === (b.value ?? '');
}

/** Creates the set's pods from its template and revision, bound to a node by name; that affinity replaces the template's terms. */
export function daemonPodMaker(set: DaemonSet, hash: string): (nodeName: string) => Pod {
  const template = podTemplate(set, hash);
  return (nodeName) => {
    const pod = podFromTemplate(template, set);
    const affinity = pod.spec?.affinity ?? {};
    const { requiredDuringSchedulingIgnoredDuringExecution: required, ...preferred } = affinity.nodeAffinity ?? {};
    const matchFields = [{ key: NAME_FIELD, operator: 'In', values: [nodeName] }];
    const nodeAffinity = {
      ...preferred,
      requiredDuringSchedulingIgnoredDuringExecution: { ...required, nodeSelectorTerms: [{ matchFields }] },
    };
    return { ...pod, spec: { containers: [], ...pod.spec, affinity: { ...affinity, nodeAffinity } } };
  };
}

function podTemplate(set: DaemonSet, hash: string): PodTemplateSpec {
  const { metadata = {}, spec } = cloneJson(set.spec?.template ?? {});
  const generation = templateGeneration(set);
  const labels = {
    ...metadata.labels,
    ...(generation === undefined ? {} : { [GENERATION_LABEL]: generation }),
    [HASH_LABEL]: hash,
  };
  return {
    metadata: { ...metadata, labels },
    spec: { containers: [], ...spec, tolerations: podTolerations(spec) },
  };
}

/** The template generation of the set, as text; undefined if its annotation is missing or not an integer. */
function templateGeneration({ metadata }: DaemonSet): string | undefined {
  const text = metadata.annotations?.[GENERATION_ANNOTATION] ?? '';
  return /^[+-]?\d+$/.test(text) ? String(BigInt(text)) : undefined;
}

/** Whether a pod has the set's current template: by the hash of its revision, or by the deprecated generation. */
export function isUpdated(set: DaemonSet, hash: string): (pod: Pod) => boolean {
  const generation = templateGeneration(set);
  return ({ metadata: { labels = {} } }) =>
    labels[HASH_LABEL] === hash || (generation !== undefined && labels[GENERATION_LABEL] === generation);
}

/** The node of a pod: the one it is bound to, else the one in its affinity. */
export function targetNode(pod: Pod): string | undefined {
  const { nodeName = '', affinity } = pod.spec ?? {};
  if (nodeName !== '') return nodeName;
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const byName = terms
    .flatMap(({ matchFields = [] }) => matchFields)
    .find(({ key, operator }) => key === NAME_FIELD && operator === 'In');
  return byName?.values?.length === 1 ? byName.values[0] : undefined;
}
