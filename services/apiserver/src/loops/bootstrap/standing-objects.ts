import {
  FLOW_AUTO_UPDATE,
  MANDATORY_FLOW_SCHEMAS,
  MANDATORY_PRIORITY_LEVELS,
  SUGGESTED_FLOW_SCHEMAS,
  SUGGESTED_PRIORITY_LEVELS,
  SYSTEM_PRIORITIES,
} from '@gantry/kinds';
import {
  CLUSTER_TRUST_BUNDLES,
  type ClusterRole,
  type KubeObject,
  type PolicyRule,
  type PriorityClass,
  type ResourceRef,
  type Subject,
  equalJson,
} from '@gantry/objects';
import {
  bootstrapClusterRoleBindings,
  bootstrapClusterRoles,
  bootstrapRoleBindings,
  bootstrapRoles,
  RBAC_AUTO_UPDATE,
  trustBundleDiscovery,
} from '../../auth/rbac/bootstrap-policy.ts';
import { missingRights } from '../../auth/rbac/rules.ts';
import { localApiServices } from '../../aggregation/api-services.ts';

/** An object that every cluster has, and a function that corrects a stored object that differs. */
export interface StandingObject {
  readonly group: string;
  readonly resource: string;
  readonly object: KubeObject;
  /** The corrected object; undefined when the stored one is correct or its owner has disabled updates. */
  readonly corrected?: (stored: KubeObject) => KubeObject | undefined;
}

const RBAC = 'rbac.authorization.k8s.io';
const METRICS = 'metrics.k8s.io';
/** The API group of flow control. */
export const FLOW_GROUP = 'flowcontrol.apiserver.k8s.io';

/**
 * All objects that Kubernetes creates at its start, and an APIService for each group version of the built-in `resources`. No object
 * depends on a later one. If `resources` contains resource metrics, a role for reading them is included.
 */
export function standingObjects(resources: readonly ResourceRef[]): readonly StandingObject[] {
  return [
    ...of(RBAC, 'clusterroles', bootstrapClusterRoles(), (stored, wanted) => withRights(stored, wanted)),
    ...of(RBAC, 'clusterroles', resources.some(({ group }) => group === METRICS) ? [metricsReader()] : []),
    ...of(RBAC, 'clusterrolebindings', bootstrapClusterRoleBindings(), withSubjects),
    ...trustBundleObjects(resources),
    ...of(RBAC, 'roles', bootstrapRoles(), (stored, wanted) => withRights(stored, wanted)),
    ...of(RBAC, 'rolebindings', bootstrapRoleBindings(), withSubjects),
    ...of('scheduling.k8s.io', 'priorityclasses', systemPriorityClasses()),
    ...flowStandingObjects(),
    ...of('apiregistration.k8s.io', 'apiservices', localApiServices(resources)),
  ];
}

/** As in Kubernetes, every service account may read trust bundles if they are served, since pods mount them. */
function trustBundleObjects(resources: readonly ResourceRef[]): readonly StandingObject[] {
  const { group, resource } = CLUSTER_TRUST_BUNDLES;
  if (!resources.some((served) => served.group === group && served.resource === resource)) return [];
  const { role, binding } = trustBundleDiscovery();
  return [
    ...of(RBAC, 'clusterroles', [role], (stored, wanted) => withRights(stored, wanted)),
    ...of(RBAC, 'clusterrolebindings', [binding], withSubjects),
  ];
}

/** The role of metrics-server's manifests: users who may read pods and nodes may also read their usage. Users may change the role. */
function metricsReader(): ClusterRole {
  const labels = ['admin', 'edit', 'view'].map((role) => [`${RBAC}/aggregate-to-${role}`, 'true'] as const);
  return {
    apiVersion: `${RBAC}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'system:aggregated-metrics-reader', labels: Object.fromEntries(labels) },
    rules: [{ apiGroups: [METRICS], resources: ['pods', 'nodes'], verbs: ['get', 'list', 'watch'] }],
  };
}

/** The standing objects of flow control. A loop keeps them while an apiserver runs. */
export function flowStandingObjects(): readonly StandingObject[] {
  return [
    ...of(FLOW_GROUP, 'prioritylevelconfigurations', MANDATORY_PRIORITY_LEVELS),
    ...of(FLOW_GROUP, 'prioritylevelconfigurations', SUGGESTED_PRIORITY_LEVELS, withSpec),
    ...of(FLOW_GROUP, 'flowschemas', MANDATORY_FLOW_SCHEMAS),
    ...of(FLOW_GROUP, 'flowschemas', SUGGESTED_FLOW_SCHEMAS, withSpec),
  ];
}

function of<T extends KubeObject>(
  group: string,
  resource: string,
  objects: readonly T[],
  correct?: (stored: T, wanted: T) => T | undefined,
): StandingObject[] {
  return objects.map((object) => ({
    group,
    resource,
    object,
    ...(correct === undefined
      ? {}
      : {
          corrected: (stored: KubeObject) => correct(stored as T, object),
        }),
  }));
}

function systemPriorityClasses(): readonly PriorityClass[] {
  const why: Readonly<Record<string, string>> = {
    'system-node-critical': 'Used for system critical pods that must not be moved from their current node.',
    'system-cluster-critical':
      'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  };
  return Object.entries(SYSTEM_PRIORITIES).map(([name, value]) => ({
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name },
    value,
    description: why[name] ?? '',
  }));
}

interface RoleLike {
  metadata: KubeObject['metadata'];
  rules?: PolicyRule[];
  aggregationRule?: unknown;
}

/** The role with its missing rules added; additional rules stay. */
function withRights<T extends RoleLike>(stored: T, wanted: T): T | undefined {
  if (isProtected(stored, RBAC_AUTO_UPDATE)) return undefined;
  // The rules of an aggregated role belong to the controller.
  const missing = wanted.aggregationRule === undefined ? missingRights(stored.rules ?? [], wanted.rules ?? []) : [];
  const regathers = wanted.aggregationRule !== undefined && stored.aggregationRule === undefined;
  const labels = Object.entries(wanted.metadata.labels ?? {});
  const relabels = labels.some(([key, value]) => stored.metadata.labels?.[key] !== value);
  if (missing.length === 0 && !relabels && !regathers) return undefined;
  return {
    ...stored,
    metadata: { ...stored.metadata, labels: { ...stored.metadata.labels, ...wanted.metadata.labels } },
    ...(missing.length === 0 ? {} : { rules: [...(stored.rules ?? []), ...missing] }),
    ...(regathers ? { aggregationRule: wanted.aggregationRule } : {}),
  };
}

interface BindingLike {
  metadata: KubeObject['metadata'];
  subjects?: Subject[];
}

/** The binding with its missing subjects added. */
function withSubjects<T extends BindingLike>(stored: T, wanted: T): T | undefined {
  if (isProtected(stored, RBAC_AUTO_UPDATE)) return undefined;
  const has = stored.subjects ?? [];
  const missing = (wanted.subjects ?? []).filter((one) => !has.some((other) => equalJson(other, one)));
  return missing.length === 0 ? undefined : { ...stored, subjects: [...has, ...missing] };
}

/** A suggested object with its current spec, unless its owner has disabled updates. */
function withSpec<T extends { metadata: KubeObject['metadata']; spec?: object }>(stored: T, wanted: T): T | undefined {
  const follows = stored.metadata.annotations?.[FLOW_AUTO_UPDATE] === 'true';
  if (!follows || equalJson(stored.spec ?? {}, wanted.spec ?? {})) return undefined;
  return { ...stored, spec: wanted.spec };
}

function isProtected({ metadata }: { metadata: KubeObject['metadata'] }, annotation: string): boolean {
  return metadata.annotations?.[annotation] === 'false';
}
