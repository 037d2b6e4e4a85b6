import { append } from '@gantry/base';
import {
  dns1123Label,
  type FieldError,
  forbidden,
  hasEnded,
  type Pod,
  PODS,
  type PodStatus,
  type Volume,
} from '@gantry/objects';
import { PART_VERBS, PROXY_VERBS, type StrategyContext, defineResource } from '@gantry/apimachinery';
import { podColumns } from './columns.ts';
import { moveAppArmorAnnotations } from '../../pod-spec/app-armor.ts';
import { validateImageSpaces } from '../../pod-spec/containers.ts';
import { defaultPodOnly, defaultPodSpec } from '../../pod-spec/defaults.ts';
import { validateEphemeralChange } from '../../pod-spec/ephemeral-containers.ts';
import { ipWarnings } from '../../fields/ip.ts';
import { applyLabelKeys } from '../../pod-spec/label-keys.ts';
import { validatePodAnnotations, validateProfilesAgree } from '../../pod-spec/annotations.ts';
import { takeEphemeralContainers, takeResources } from './subresources.ts';
import { podQosClass } from './qos.ts';
import { validateResize } from './resize.ts';
import { validatePodSpec } from '../../pod-spec/spec.ts';
import { keepObservedGenerations, validatePodStatusChange } from './status.ts';
import { validatePodChange } from './update.ts';
import { podWarnings } from '../../pod-spec/warnings.ts';
import { podQuota } from './quota.ts';

/** Both verbs can open streams to containers. */
const CONNECT_VERBS = ['create', 'get'] as const;

function applyDefaults(object: Pod): void {
  const spec = (object.spec ??= { containers: [] });
  defaultPodOnly(spec);
  defaultPodSpec(spec);
  // For pods only: templates keep their value.
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) spec.terminationGracePeriodSeconds = 1;
  if (object.status !== undefined) settleAddresses(object.status);
}

/** `podIP` and `hostIP` are the first of `podIPs` and `hostIPs`: a write of one sets both. */
function settleAddresses(status: PodStatus): void {
  if ((status.podIP ?? '') !== '' && status.podIPs?.[0]?.ip !== status.podIP) {
    status.podIPs = [{ ip: status.podIP ?? '' }];
  }
  const first = status.podIPs?.[0]?.ip ?? '';
  if (first !== '') status.podIP = first;
}

function prepareForCreate(object: Pod, { warn }: StrategyContext): void {
  const spec = object.spec ?? { containers: [] };
  object.status = { phase: 'Pending', qosClass: podQosClass(spec) };
  if ((spec.schedulingGates ?? []).length > 0) {
    object.status.conditions = [
      {
        type: 'PodScheduled',
        status: 'False',
        reason: 'SchedulingGated',
        message: 'Scheduling is blocked due to non-empty scheduling gates',
      },
    ];
  }
  applyLabelKeys(object);
  moveAppArmorAnnotations(object, warn);
}

/** The priority is set once: an update without a priority keeps it. */
function prepareForUpdate(object: Pod, old: Pod): void {
  const { priority, preemptionPolicy } = old.spec ?? {};
  const spec = (object.spec ??= { containers: [] });
  if (priority !== undefined) spec.priority ??= priority;
  if (preemptionPolicy !== undefined) spec.preemptionPolicy ??= preemptionPolicy;
  if (old.status === undefined) delete object.status;
  else object.status = old.status;
}

/** A status update must not change the spec, the owners, or fields that follow from the spec. */
function prepareStatus(object: Pod, old: Pod): void {
  if (old.spec !== undefined) object.spec = old.spec;
  if (old.metadata.ownerReferences === undefined) delete object.metadata.ownerReferences;
  else object.metadata.ownerReferences = old.metadata.ownerReferences;
  const qosClass = old.status?.qosClass;
  const status = { ...object.status };
  if ((status.qosClass ?? '') === '' && qosClass !== undefined) status.qosClass = qosClass;
  keepObservedGenerations(status, old.status);
  object.status = status;
}

function validate(object: Pod): FieldError[] {
  const spec = object.spec ?? { containers: [] };
  const errors = [
    ...validatePodAnnotations(object.metadata, spec, 'metadata.annotations'),
    ...validatePodSpec(spec, 'spec'),
  ];
  if ((spec.serviceAccountName ?? '') === '') append(errors, validateTokensNeedAccount(spec.volumes ?? []));
  return [
    ...errors,
    ...validateImageSpaces(spec.containers, 'spec.containers'),
    ...validateImageSpaces(spec.initContainers, 'spec.initContainers'),
  ];
}

/** Ephemeral containers are only added later by their subresource. A pod with scheduling gates must not have a node. */
function validateCreate({ metadata, spec }: Pod): FieldError[] {
  const errors: FieldError[] = [];
  if ((spec?.ephemeralContainers ?? []).length > 0) {
    errors.push(forbidden('spec.ephemeralContainers', 'cannot be set on create'));
  }
  if ((spec?.nodeName ?? '') !== '' && (spec?.schedulingGates ?? []).length > 0) {
    errors.push(forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared'));
  }
  return [...errors, ...validateProfilesAgree(metadata, spec ?? { containers: [] }, 'spec')];
}

function validateTokensNeedAccount(volumes: readonly Volume[]): FieldError[] {
  return volumes.flatMap(({ projected }, i) =>
    (projected?.sources ?? []).flatMap(({ serviceAccountToken }, j) =>
      serviceAccountToken === undefined
        ? []
        : [
            forbidden(
              `spec.volumes[${i}].projected.sources[${j}].serviceAccountToken`,
              'must not be specified when serviceAccountName is not set',
            ),
          ],
    ),
  );
}

/** Warnings about a name that cannot be used as the hostname. */
function hostnameWarnings({ metadata: { name = '' } }: Pod): string[] {
  const faults = dns1123Label(name);
  if (faults.length === 0) return [];
  const advice =
    "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended";
  return [`metadata.name: ${advice}: [${faults.join(' ')}]`];
}

/** Pods without a node and ended pods are deleted at once. */
function gracePeriodSeconds(object: Pod, requested: number | undefined): number {
  const unscheduled = (object.spec?.nodeName ?? '') === '';
  if (unscheduled || hasEnded(object)) return 0;
  const period = requested ?? object.spec?.terminationGracePeriodSeconds ?? 0;
  return period < 0 ? 1 : period;
}

export const pods = defineResource(PODS, {
  shortNames: ['po'],
  categories: ['all'],
  schema: 'core.v1.Pod',
  strategy: {
    deletionResponse: 'object',
    applyDefaults,
    prepareForCreate,
    prepareForUpdate,
    validate,
    validateCreate,
    validateUpdate: validatePodChange,
    warnings: (pod, old) => (old === undefined ? [...hostnameWarnings(pod), ...podWarnings(pod, '')] : []),
    hasGeneration: true,
    gracePeriodSeconds,
  },
  subresources: [
    { name: 'attach', kind: 'PodAttachOptions', verbs: CONNECT_VERBS },
    { name: 'binding', kind: 'Binding', verbs: ['create'] },
    {
      name: 'ephemeralcontainers',
      resetFields: { keep: [['spec', 'ephemeralContainers']] },
      verbs: PART_VERBS,
      prepareForUpdate: takeEphemeralContainers,
      validateUpdate: (object, old) => [...validate(object), ...validateEphemeralChange(object, old)],
    },
    { name: 'eviction', group: 'policy', version: 'v1', kind: 'Eviction', verbs: ['create'] },
    { name: 'exec', kind: 'PodExecOptions', verbs: CONNECT_VERBS },
    { name: 'log', verbs: ['get'] },
    { name: 'portforward', kind: 'PodPortForwardOptions', verbs: CONNECT_VERBS },
    { name: 'proxy', kind: 'PodProxyOptions', verbs: PROXY_VERBS },
    {
      name: 'resize',
      resetFields: {
        keep: [
          ['spec', 'containers', '*', 'resources'],
          ['spec', 'containers', '*', 'resizePolicy'],
          ['spec', 'initContainers', '*', 'resources'],
          ['spec', 'initContainers', '*', 'resizePolicy'],
        ],
      },
      verbs: PART_VERBS,
      prepareForUpdate: takeResources,
      validateUpdate: (object, old) => [...validate(object), ...validateResize(object, old)],
    },
    {
      name: 'status',
      resetFields: { drop: [['spec'], ['metadata', 'deletionTimestamp'], ['metadata', 'ownerReferences']] },
      verbs: PART_VERBS,
      prepareForUpdate: prepareStatus,
      validateUpdate: validatePodStatusChange,
      warnings: ({ status }) =>
        (['podIPs', 'hostIPs'] as const).flatMap((field) =>
          (status?.[field] ?? []).flatMap(({ ip }, i) => ipWarnings(ip, `status.${field}[${i}].ip`)),
        ),
    },
  ],
  quota: podQuota,
  columns: podColumns,
  selectableFields: {
    'spec.host': ({ spec }) => spec?.nodeName ?? '',
    'spec.nodeName': ({ spec }) => spec?.nodeName ?? '',
    'spec.restartPolicy': ({ spec }) => spec?.restartPolicy ?? '',
    'spec.schedulerName': ({ spec }) => spec?.schedulerName ?? '',
    'spec.serviceAccountName': ({ spec }) => spec?.serviceAccountName ?? '',
    'spec.hostNetwork': ({ spec }) => String(spec?.hostNetwork ?? false),
    'status.phase': ({ status }) => status?.phase ?? '',
    'status.podIP': ({ status }) => status?.podIP ?? '',
    'status.podIPs': ({ status }) => status?.podIP ?? '',
    'status.nominatedNodeName': ({ status }) => status?.nominatedNodeName ?? '',
  },
});
