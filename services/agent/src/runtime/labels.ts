const ENGINE = 'docker://';
/** Labels of our containers: everything that adoption needs. A container without the cluster's label is never touched. */
export const LABEL = {
  cluster: 'gantry.cluster',
  node: 'gantry.node',
  podName: 'io.kubernetes.pod.name',
  podNamespace: 'io.kubernetes.pod.namespace',
  podUid: 'io.kubernetes.pod.uid',
  containerName: 'io.kubernetes.container.name',
  containerHash: 'io.kubernetes.container.hash',
  restartCount: 'io.kubernetes.container.restartCount',
  sandboxId: 'io.kubernetes.sandbox.id',
  /** How long a successor of this container must wait after its end. */
  restartDelayMs: 'gantry.restart-delay-ms',
  /** The run of the machine in which this container was created. */
  machineStart: 'gantry.machine-start',
  /** The pod's termination grace period in seconds, for stopping it when its object is gone. */
  graceSeconds: 'io.kubernetes.pod.terminationGracePeriod',
  /** `at-most-one`; absent for other pods. */
  instances: 'gantry.instances',
  /** For a sandbox that the agent connected to its network: its address, and the name of the network's bridge on the host. */
  address: 'gantry.address',
  bridge: 'gantry.bridge',
  /** The agent's path of the container's termination message. */
  terminationMessage: 'gantry.termination-message',
  /** The ids of the container's first process: `UID:GID:GROUP,GROUP`. */
  processUser: 'gantry.process-user',
  /** For a forwarder: its Service's uid, a digest of its settings, and its Service's namespace and name. */
  forwarder: 'gantry.forwarder',
  forwarderHash: 'gantry.forwarder.hash',
  forwarderService: 'gantry.forwarder.service',
} as const;

/** The container name of every sandbox. */
export const SANDBOX_NAME = 'POD';
/** The container name of all image holds. */
export const IMAGE_HOLD_NAME = 'IMAGE';

/** Owner of containers: one node of one cluster. */
export interface Owner {
  readonly cluster: string;
  readonly node: string;
}

/**
 * How many pods of an identity may run at the same time. `at-most-one`: a successor starts only once all containers of the pod are known to
 * have stopped.
 */
export type Instances = 'any' | 'at-most-one';

/** A pod's uid and name, as labels carry them. */
export interface PodIdentity {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** `docker://<id>`, the form of container ids in statuses. */
export function containerId(state: { readonly id: string }): string {
  return `${ENGINE}${state.id}`;
}

/** The engine's id of a container, by the id in its status; '' where the status has none. */
export function engineIdOf({ containerID = '' }: { readonly containerID?: string }): string {
  return containerID.startsWith(ENGINE) ? containerID.slice(ENGINE.length) : containerID;
}
