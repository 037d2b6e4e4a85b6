import { formatTime, type Instant } from '@gantry/base';
import {
  ARCH_LABEL,
  BETA_ARCH_LABEL,
  BETA_OS_LABEL,
  type ContainerImage,
  ENGINE_LABEL,
  FORWARDED_FROM_ANNOTATION,
  HOST_ADDRESS_ANNOTATION,
  HOSTNAME_LABEL,
  type Node,
  type NodeCondition,
  type NodeSpec,
  type NodeStatus,
  OS_LABEL,
  REGION_LABEL,
  ZONE_LABEL,
} from '@gantry/objects';
import type { EngineInfo, EnginePrivilege } from '../runtime/engine.ts';
import type { NodePressure } from '../spec/node-pressure.ts';
import type { HostShares } from './host-shares.ts';
import type { Registration } from './registration.ts';
import { type HostResources, resourceStatus } from './node-resources.ts';
import type { ResourceAmounts } from '../spec/resources.ts';
import { readFile } from 'node:fs/promises';

/** The Kubernetes version whose kubelet this agent replaces. */
export const KUBELET_VERSION = 'v1.36.2';
/** The port of the agent's gRPC server and of its HTTP endpoints, the same as kubelet's. */
export const AGENT_PORT = 10250;
/** The region of all engines without a setting. */
const REGION = 'gantry';
/** An unchanged status is written again after this time in milliseconds, to keep its heartbeat times recent. */
const STATUS_REFRESH_MS = 300_000;

/** The facts from which a Node is computed. */
export interface NodeObservation {
  readonly name: string;
  readonly engineName: string;
  readonly address: string;
  /** The address of the engine's host at which load balancers are reachable; undefined when it is unknown. */
  readonly gatewayAddress: string | undefined;
  /** The address at which other hosts reach this one; '' without other hosts. */
  readonly hostAddress: string;
  /** The address from which the host forwards the ports of load balancers; '' when it does not forward. */
  readonly forwardedFrom: string;
  readonly engine: EngineInfo;
  readonly privilege: EnginePrivilege;
  readonly registration: Registration;
  /** The host's resources, the number of nodes that share them, and the reserved amounts of each share. */
  readonly host: HostResources;
  readonly shares: number;
  readonly reserved: ResourceAmounts;
  readonly images: readonly ContainerImage[];
  readonly ids: { readonly machine: string; readonly boot: string; readonly system: string };
  /** The pressure conditions of this node. */
  readonly pressures: readonly NodePressure[];
  /** Why pods cannot run; undefined when they can. */
  readonly engineFailure: string | undefined;
}

type NodeFacts = Pick<NodeObservation, 'name' | 'engineName' | 'engine' | 'registration'>;

/** Labels that the agent owns on its Node. */
export function nodeLabels(observed: NodeFacts): Record<string, string> {
  const { [REGION_LABEL]: region = REGION, [ZONE_LABEL]: zone = observed.engineName } = observed.registration.labels;
  const arch = architecture(observed.engine.architecture);
  return {
    [BETA_ARCH_LABEL]: arch,
    [BETA_OS_LABEL]: 'linux',
    [ARCH_LABEL]: arch,
    [HOSTNAME_LABEL]: observed.name,
    [OS_LABEL]: 'linux',
    [ENGINE_LABEL]: observed.engineName,
    // The engine's host is the zone: everything on it fails together.
    [REGION_LABEL]: region,
    [ZONE_LABEL]: zone,
  };
}

/** Annotations that the agent owns on its Node; '' for none. */
export function nodeAnnotations({
  hostAddress,
  forwardedFrom,
}: Pick<NodeObservation, 'hostAddress' | 'forwardedFrom'>): Record<string, string> {
  return { [HOST_ADDRESS_ANNOTATION]: hostAddress, [FORWARDED_FROM_ANNOTATION]: forwardedFrom };
}

function annotationsOf(observed: NodeObservation): Pick<Node['metadata'], 'annotations'> {
  const annotations = Object.entries(nodeAnnotations(observed)).filter(([, value]) => value !== '');
  return annotations.length === 0 ? {} : { annotations: Object.fromEntries(annotations) };
}

/** Identifies the machine for cluster management tools: the engine, and the agent's name on it. */
export function providerId({ engineName, name }: Pick<NodeObservation, 'engineName' | 'name'>): string {
  return `gantry://${engineName}/${name}`;
}

function architecture(machine: string): string {
  const names: Readonly<Record<string, string>> = { x86_64: 'amd64', aarch64: 'arm64', armv7l: 'arm' };
  return names[machine] ?? machine;
}

/** The Node against which pods are checked before it is registered. */
export function expectedNode(
  observed: NodeFacts,
  { host, count, reserved }: Pick<HostShares, 'host' | 'count' | 'reserved'>,
): Node {
  const { labels, taints } = registered(observed);
  const metadata = { name: observed.name, labels };
  return { apiVersion: 'v1', kind: 'Node', metadata, spec: taints, status: resourceStatus(host, count, reserved, {}) };
}

/** The Node at its registration. */
export function newNode(observed: NodeObservation, now: Instant): Node {
  const { labels, taints } = registered(observed);
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: observed.name, labels, ...annotationsOf(observed) },
    spec: { providerID: providerId(observed), ...taints },
    status: nodeStatus(observed, {}, now),
  };
}

/** The agent's own labels with those of the settings, and the taints of the settings. */
function registered(observed: NodeFacts): {
  readonly labels: Record<string, string>;
  readonly taints: Pick<NodeSpec, 'taints'>;
} {
  const { labels, taints } = observed.registration;
  return {
    labels: { ...labels, ...nodeLabels(observed) },
    taints: taints.length === 0 ? {} : { taints: [...taints] },
  };
}

/** Names of kubelet features that the scheduler and the API server check before they accept certain pods. */
function declaredFeatures({ podGroups }: EngineInfo): string[] {
  return [
    ...(podGroups === 'supported' ? ['InPlacePodLevelResourcesVerticalScaling'] : []),
    'InPlacePodVerticalScalingInitContainers',
    'RestartAllContainersOnContainerExits',
  ];
}

/** The desired status. Conditions and fields of other owners are kept. */
export function nodeStatus(observed: NodeObservation, old: NodeStatus, now: Instant): NodeStatus {
  const { engine, host, shares, reserved, images } = observed;
  const arch = architecture(engine.architecture);
  return {
    ...old,
    addresses: [
      { type: 'InternalIP', address: observed.address },
      ...(observed.gatewayAddress === undefined ? [] : [{ type: 'ExternalIP', address: observed.gatewayAddress }]),
      { type: 'Hostname', address: observed.name },
    ],
    ...resourceStatus(host, shares, reserved, old),
    conditions: nodeConditions(observed, old.conditions ?? [], now),
    daemonEndpoints: { kubeletEndpoint: { Port: AGENT_PORT } },
    declaredFeatures: declaredFeatures(engine),
    features: { supplementalGroupsPolicy: true },
    images: [...images],
    runtimeHandlers: ['', ...engine.runtimes.toSorted()].map((name) => ({
      name,
      features: { recursiveReadOnlyMounts: engine.recursiveReadOnly === 'supported', userNamespaces: false },
    })),
    nodeInfo: {
      architecture: arch,
      bootID: observed.ids.boot,
      containerRuntimeVersion: `docker://${engine.version}`,
      kernelVersion: engine.kernel,
      kubeProxyVersion: '',
      kubeletVersion: KUBELET_VERSION,
      machineID: observed.ids.machine,
      operatingSystem: 'linux',
      osImage: engine.os,
      systemUUID: observed.ids.system,
    },
  };
}

type ConditionDraft = Pick<NodeCondition, 'type' | 'status' | 'reason' | 'message'>;

/** Conditions with the kubelet's reasons and messages (pkg/kubelet/nodestatus). */
const PRESSURES: readonly {
  readonly type: NodePressure;
  readonly here: Pick<ConditionDraft, 'reason' | 'message'>;
  readonly none: Pick<ConditionDraft, 'reason' | 'message'>;
}[] = [
  {
    type: 'MemoryPressure',
    here: { reason: 'KubeletHasInsufficientMemory', message: 'kubelet has insufficient memory available' },
    none: { reason: 'KubeletHasSufficientMemory', message: 'kubelet has sufficient memory available' },
  },
  {
    type: 'DiskPressure',
    here: { reason: 'KubeletHasDiskPressure', message: 'kubelet has disk pressure' },
    none: { reason: 'KubeletHasNoDiskPressure', message: 'kubelet has no disk pressure' },
  },
  {
    type: 'PIDPressure',
    here: { reason: 'KubeletHasInsufficientPID', message: 'kubelet has insufficient PID available' },
    none: { reason: 'KubeletHasSufficientPID', message: 'kubelet has sufficient PID available' },
  },
];

function nodeConditions(observed: NodeObservation, old: readonly NodeCondition[], now: Instant): NodeCondition[] {
  const drafts: ConditionDraft[] = [
    ...PRESSURES.map(
      ({ type, here, none }): ConditionDraft =>
        observed.pressures.includes(type) ? { type, status: 'True', ...here } : { type, status: 'False', ...none },
    ),
    privilegeCondition(observed.privilege),
    observed.engineFailure === undefined
      ? { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' }
      : {
          type: 'Ready',
          status: 'False',
          reason: 'KubeletNotReady',
          message: `container runtime is down: ${observed.engineFailure}`,
        },
  ];
  const own = drafts.map((draft) => stamp(draft, old, now));
  const types = new Set(own.map((condition) => condition.type));
  return [...own, ...old.filter((condition) => !types.has(condition.type))];
}

function privilegeCondition(privilege: EnginePrivilege): ConditionDraft {
  const type = 'EngineRestricted';
  if (privilege === 'full') {
    return { type, status: 'False', reason: 'EngineHasSysResource', message: 'the engine gives every privilege' };
  }
  return {
    type,
    status: 'True',
    reason: 'EngineLacksSysResource',
    message:
      'the engine lacks CAP_SYS_RESOURCE: OOM scores below 0 become 0, privileged containers get all other capabilities, ' +
      "and may use all devices, but have to make the nodes of the host's in /dev themselves",
  };
}

function stamp(draft: ConditionDraft, old: readonly NodeCondition[], now: Instant): NodeCondition {
  const before = old.find((condition) => condition.type === draft.type);
  const same = before?.status === draft.status && before.reason === draft.reason && before.message === draft.message;
  const beat = Date.parse(before?.lastHeartbeatTime ?? '');
  const kept = same && now - beat < STATUS_REFRESH_MS ? before.lastHeartbeatTime : undefined;
  return {
    type: draft.type,
    status: draft.status,
    lastHeartbeatTime: kept ?? formatTime(now),
    lastTransitionTime:
      before?.status === draft.status && before.lastTransitionTime !== undefined
        ? before.lastTransitionTime
        : formatTime(now),
    reason: draft.reason,
    message: draft.message,
  };
}

/** Ids of the machine for `nodeInfo`; '' where the kernel does not provide one. */
export async function readHostIds(): Promise<{ machine: string; boot: string; system: string }> {
  const [machine, boot, system] = await Promise.all([
    read('/etc/machine-id'),
    read('/proc/sys/kernel/random/boot_id'),
    read('/sys/class/dmi/id/product_uuid'),
  ]);
  return { machine: machine || boot.replaceAll('-', ''), boot, system: system || boot };
}

async function read(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    // Absent or not readable on this machine: the field stays empty.
    return '';
  }
}
