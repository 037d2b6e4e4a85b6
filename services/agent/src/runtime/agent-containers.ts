/** A mount of the agent's own container. */
export interface SelfMount {
  readonly containerPath: string;
  readonly hostPath: string;
  /** The name of the engine's volume, if the mount is one. */
  readonly volume?: string;
}

/** The container that this agent runs in, as the engine describes it. */
export interface SelfContainer {
  readonly id: string;
  /** The id of the container's image. */
  readonly image: string;
  /** Compose's project, service and number; absent for a container that Compose did not create. */
  readonly compose?: {
    readonly project: string;
    readonly service: string;
    readonly number: number;
    readonly kind: 'service' | 'one-off';
  };
  /** Path inside the container → path on the engine's host. */
  readonly mounts: readonly SelfMount[];
  /** The container's address on each network. */
  readonly addresses: Readonly<Record<string, string>>;
  /** The address of the engine's host on each network that has one. */
  readonly gateways: Readonly<Record<string, string>>;
}

/** The agents' own containers on this engine, running or not. */
export interface AgentContainers {
  /** Undefined when this process runs in no container of the engine. */
  describeSelf(signal: AbortSignal): Promise<SelfContainer | undefined>;
  /** The numbers of a Compose service's existing containers, and whether they run. One-off containers are not listed. */
  listNumbers(
    project: string,
    service: string,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<number, 'running' | 'stopped'>>;
  /** Removes a volume that no container uses. A volume that is missing or in use is not an error. */
  removeUnusedVolume(volume: string, signal: AbortSignal): Promise<void>;
}
