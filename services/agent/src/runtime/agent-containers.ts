/** A mount of the agent's own container. */
export interface SelfMount {
  readonly containerPath: string;
  readonly hostPath: string;
  /** The engine's volume, if it is one. */
  readonly volume?: string;
}

/** The container that this agent runs in, as the engine describes it. */
export interface SelfContainer {
  readonly id: string;
  /** The id of its image. */
  readonly image: string;
  /** Compose's project, service and number; a container made otherwise has none. */
  readonly compose?: {
    readonly project: string;
    readonly service: string;
    readonly number: number;
    readonly kind: 'service' | 'one-off';
  };
  /** Path inside the container → path on the engine's host. */
  readonly mounts: readonly SelfMount[];
  /** Its address on each network. */
  readonly addresses: Readonly<Record<string, string>>;
  /** The address of the engine's host on each network that has one. */
  readonly gateways: Readonly<Record<string, string>>;
}

/** The agents' own containers on this engine, running or not. */
export interface AgentContainers {
  /** Undefined when this process runs in no container of the engine. */
  describeSelf(signal: AbortSignal): Promise<SelfContainer | undefined>;
  /** Numbers of the containers of a Compose service that exist and whether they run. One-off containers do not count. */
  listNumbers(
    project: string,
    service: string,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<number, 'running' | 'stopped'>>;
  /** Removes a volume that no container uses. One that is missing or in use is left. */
  removeUnusedVolume(volume: string, signal: AbortSignal): Promise<void>;
}
