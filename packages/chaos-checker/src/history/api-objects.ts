// The fields of API objects that the invariants read. Objects come from etcd unvalidated, so every field may be missing.

export interface OwnerReference {
  readonly kind?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly controller?: boolean;
}

export interface ManagedFields {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly fieldsV1?: FieldsV1;
}

export interface FieldsV1 {
  readonly [key: string]: FieldsV1;
}

export interface Metadata {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly ManagedFields[];
}

/** An object of any kind, with the fields of all kinds that are read. */
export interface ApiObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: Metadata;
  readonly spec?: PodSpec & NodeSpec & WorkloadSpec & JobSpec & ServiceSpec & BudgetSpec & LeaseSpec;
  readonly status?: Status;
  /** Of a ConfigMap. */
  readonly data?: Readonly<Record<string, string>>;
}

export interface Condition {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
}

export interface ContainerSpec {
  readonly name?: string;
  readonly restartPolicy?: string;
  readonly resources?: { readonly requests?: Readonly<Record<string, string | number>> };
}

export interface ContainerStatus {
  readonly name?: string;
  readonly containerID?: string;
  readonly restartCount?: number;
  readonly state?: { readonly running?: object; readonly waiting?: object; readonly terminated?: object };
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

export interface SelectorRequirement {
  readonly key?: string;
  readonly operator?: string;
  readonly values?: readonly string[];
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly SelectorRequirement[];
  readonly matchFields?: readonly SelectorRequirement[];
}

export interface Affinity {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: {
      readonly nodeSelectorTerms?: readonly NodeSelectorTerm[];
    };
  };
  readonly podAffinity?: object;
  readonly podAntiAffinity?: object;
}

interface PodSpec {
  readonly nodeName?: string;
  readonly hostNetwork?: boolean;
  readonly restartPolicy?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: Affinity;
  readonly tolerations?: readonly Toleration[];
  readonly schedulingGates?: readonly object[];
  readonly schedulerName?: string;
  readonly topologySpreadConstraints?: readonly object[];
  readonly resourceClaims?: readonly object[];
  readonly volumes?: readonly { readonly persistentVolumeClaim?: object; readonly ephemeral?: object }[];
  readonly containers?: readonly ContainerSpec[];
  readonly initContainers?: readonly ContainerSpec[];
  readonly overhead?: Readonly<Record<string, string | number>>;
}

interface Status {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  /** Of a pod. */
  readonly phase?: string;
  readonly podIPs?: readonly { readonly ip?: string }[];
  readonly containerStatuses?: readonly ContainerStatus[];
  /** Of a node. */
  readonly allocatable?: Readonly<Record<string, string | number>>;
  /** Of a StatefulSet. */
  readonly currentRevision?: string;
  readonly updateRevision?: string;
  /** Of a Job. */
  readonly succeeded?: number;
  readonly completedIndexes?: string;
  /** Of a disruption budget. */
  readonly disruptionsAllowed?: number;
  /** Of a quota. */
  readonly hard?: Readonly<Record<string, string>>;
  readonly used?: Readonly<Record<string, string>>;
}

export interface Taint {
  readonly key?: string;
  readonly value?: string;
  readonly effect?: string;
}

interface NodeSpec {
  readonly unschedulable?: boolean;
  readonly taints?: readonly Taint[];
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly SelectorRequirement[];
}

/** Of Deployments, ReplicaSets, StatefulSets and DaemonSets. */
interface WorkloadSpec {
  readonly replicas?: number;
  readonly selector?: LabelSelector;
  readonly strategy?: { readonly type?: string; readonly rollingUpdate?: RollingUpdate };
  readonly updateStrategy?: { readonly type?: string; readonly rollingUpdate?: RollingUpdate };
}

interface RollingUpdate {
  readonly maxSurge?: number | string;
  readonly maxUnavailable?: number | string;
}

interface JobSpec {
  readonly completions?: number;
  readonly parallelism?: number;
  readonly podReplacementPolicy?: string;
}

/** Of disruption budgets and quotas. */
interface BudgetSpec {
  readonly minAvailable?: number | string;
  readonly maxUnavailable?: number | string;
  readonly scopes?: readonly string[];
  readonly scopeSelector?: object;
}

interface ServiceSpec {
  readonly clusterIPs?: readonly string[];
  readonly healthCheckNodePort?: number;
  readonly publishNotReadyAddresses?: boolean;
  readonly ports?: readonly { readonly protocol?: string; readonly nodePort?: number }[];
}

/** Of the Lease of a leader elector. */
interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseTransitions?: number;
}

export function hasCondition(object: ApiObject | undefined, type: string): boolean {
  return object?.status?.conditions?.some((one) => one.type === type && one.status === 'True') === true;
}

/** A controller has decided to delete the pod because of a taint of its node. */
export function isEvictedByTaint(pod: ApiObject | undefined): boolean {
  const conditions = pod?.status?.conditions ?? [];
  return conditions.some(({ type, reason }) => type === 'DisruptionTarget' && reason === 'DeletionByTaintManager');
}

/** Succeeded or Failed: no container of the pod runs, or will run again. */
export function isTerminal(pod: ApiObject | undefined): boolean {
  return pod?.status?.phase === 'Succeeded' || pod?.status?.phase === 'Failed';
}

/** Neither terminal nor being deleted. */
export function isActive(pod: ApiObject | undefined): boolean {
  return pod !== undefined && !isTerminal(pod) && pod.metadata?.deletionTimestamp === undefined;
}

/** The reference to the controller. */
export function controllerOf(object: ApiObject | undefined): OwnerReference | undefined {
  return object?.metadata?.ownerReferences?.find(({ controller }) => controller === true);
}

/** A count, or a percentage of `of`. Undefined for text that is neither. */
export function scaled(value: number | string, of: number, round: 'up' | 'down'): number | undefined {
  if (typeof value === 'number') return value;
  const percent = /^(\d+)%$/.exec(value)?.[1];
  if (percent === undefined) return undefined;
  const exact = (Number(percent) * of) / 100;
  return round === 'up' ? Math.ceil(exact) : Math.floor(exact);
}

/** Whether labels match a selector. An absent selector matches nothing, an empty one everything. */
export function matches(selector: LabelSelector | undefined, labels: Readonly<Record<string, string>> = {}): boolean {
  if (selector === undefined) return false;
  const all = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return all && (selector.matchExpressions ?? []).every((requirement) => meets(requirement, labels));
}

/** Whether labels meet one requirement. */
export function meets(
  { key = '', operator, values = [] }: SelectorRequirement,
  labels: Readonly<Record<string, string>>,
) {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return value !== undefined && Number(value) > Number(values[0]);
    case 'Lt':
      return value !== undefined && Number(value) < Number(values[0]);
    default:
      return false;
  }
}
