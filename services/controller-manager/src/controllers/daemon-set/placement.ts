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

/** What a set's pods tolerate in addition to what its template says: they stay on nodes in trouble. */
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

/** `run`: a pod belongs on the node. `keep`: one that is there may stay, no new one comes. `leave`: none may be there. */
export type Placement = 'run' | 'keep' | 'leave';

/** Decides on nodes for one set; Kubernetes' NodeShouldRunDaemonPod. Resources and ports are the scheduler's concern. */
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

/** The tolerations of the set's pods; one of the template that differs in its seconds alone is replaced. */
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

/** Makes the set's pods: of its template and revision, bound to a node by its name, which replaces the template's terms. */
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

/** The counter of the set's templates, as text; undefined where its annotation is missing or no integer. */
function templateGeneration({ metadata }: DaemonSet): string | undefined {
  const text = metadata.annotations?.[GENERATION_ANNOTATION] ?? '';
  return /^[+-]?\d+$/.test(text) ? String(BigInt(text)) : undefined;
}

/** Whether a pod is of the set's present template: by the hash of its revision, or by the deprecated counter. */
export function isUpdated(set: DaemonSet, hash: string): (pod: Pod) => boolean {
  const generation = templateGeneration(set);
  return ({ metadata: { labels = {} } }) =>
    labels[HASH_LABEL] === hash || (generation !== undefined && labels[GENERATION_LABEL] === generation);
}

/** The node of a pod: the one that it is bound to, else the one that its affinity names. */
export function targetNode(pod: Pod): string | undefined {
  const { nodeName = '', affinity } = pod.spec ?? {};
  if (nodeName !== '') return nodeName;
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const byName = terms
    .flatMap(({ matchFields = [] }) => matchFields)
    .find(({ key, operator }) => key === NAME_FIELD && operator === 'In');
  return byName?.values?.length === 1 ? byName.values[0] : undefined;
}
