import { controllerOf, equalJson } from '@gantry/objects';
import type { ControllerRevision, Deployment, KubeObject, ReplicaSet } from '@gantry/objects';

/** A state of a workload's pod template to which it can go back. */
export interface Revision {
  readonly number: number;
  readonly template: unknown;
  /** All annotations of the workload after the roll back. Absent: they stay as they are. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly createdAt: string;
  readonly cause: string;
  readonly isCurrent: boolean;
}

/** The number of a Deployment's revision, at it and at its ReplicaSets. */
export const REVISION = 'deployment.kubernetes.io/revision';
const CAUSE = 'kubernetes.io/change-cause';
const TEMPLATE_HASH = 'pod-template-hash';

/** Annotations that belong to the Deployment or to a ReplicaSet, and not to a revision. */
const OWN_ANNOTATIONS: readonly string[] = [
  'kubectl.kubernetes.io/last-applied-configuration',
  REVISION,
  'deployment.kubernetes.io/revision-history',
  'deployment.kubernetes.io/desired-replicas',
  'deployment.kubernetes.io/max-replicas',
  'deprecated.deployment.rollback.to',
];

/** What the annotations of a Deployment become with the roll back to a ReplicaSet: its own ones stay, the others are the revision's. */
function restoredAnnotations(deployment: KubeObject, set: KubeObject): Readonly<Record<string, string>> {
  const of = ({ metadata }: KubeObject, isOwn: boolean) =>
    Object.entries(metadata.annotations ?? {}).filter(([name]) => OWN_ANNOTATIONS.includes(name) === isOwn);
  return Object.fromEntries([...of(deployment, true), ...of(set, false)]);
}

/** The revisions of a Deployment, the newest first, from the ReplicaSets of its namespace. */
export function deploymentRevisions(deployment: Deployment, sets: readonly ReplicaSet[]): readonly Revision[] {
  const current = Number(deployment.metadata.annotations?.[REVISION] ?? 0);
  const own = sets.filter((set) => controllerOf(set)?.uid === deployment.metadata.uid);
  return newestFirst(
    own.map((set) => {
      const number = Number(set.metadata.annotations?.[REVISION] ?? 0);
      return {
        ...factsOf(set),
        number,
        template: withoutHash(set.spec?.template),
        annotations: restoredAnnotations(deployment, set),
        isCurrent: number === current,
      };
    }),
  );
}

/** The revisions of a StatefulSet or DaemonSet, the newest first. */
export function controllerRevisions(
  workload: KubeObject & { readonly spec?: unknown },
  revisions: readonly ControllerRevision[],
): readonly Revision[] {
  const own = revisions.filter((revision) => controllerOf(revision)?.uid === workload.metadata.uid);
  const current = (workload.spec as { template?: unknown } | undefined)?.template;
  return newestFirst(
    own.map((revision) => {
      const { spec } = (revision.data ?? {}) as { spec?: { template?: Record<string, unknown> } };
      const { $patch: _, ...template } = spec?.template ?? {};
      return { ...factsOf(revision), number: revision.revision, template, isCurrent: equalJson(template, current) };
    }),
  );
}

function newestFirst(revisions: readonly Revision[]): readonly Revision[] {
  return revisions.toSorted((a, b) => b.number - a.number);
}

function factsOf({ metadata }: KubeObject): { readonly createdAt: string; readonly cause: string } {
  return { createdAt: metadata.creationTimestamp ?? '', cause: metadata.annotations?.[CAUSE] ?? '' };
}

/** The label that the controller adds is no part of what a person wrote. */
function withoutHash(template: unknown): unknown {
  const { metadata, ...rest } = (template ?? {}) as { metadata?: { labels?: Record<string, string> } };
  const { [TEMPLATE_HASH]: _, ...labels } = metadata?.labels ?? {};
  return { metadata: { ...metadata, labels }, ...rest };
}
