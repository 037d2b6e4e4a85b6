/** Labels that hold all that adoption of a container needs; also what limits us to containers of our own. */
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
  /** Termination grace of the pod in seconds, for whoever stops it without knowing the pod. */
  graceSeconds: 'io.kubernetes.pod.terminationGracePeriod',
  /** Where the container's termination message lies, seen from the agent. */
  terminationMessage: 'gantry.termination-message',
} as const;

/** The container name of every sandbox. */
export const SANDBOX_NAME = 'POD';

/** Whose containers: one node of one cluster. */
export interface Owner {
  readonly cluster: string;
  readonly node: string;
}

/** Which pod. */
export interface PodIdentity {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}
