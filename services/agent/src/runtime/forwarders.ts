/** A port of 127.0.0.1 on the engine's host, and the Service's port that it leads to. */
export interface ForwardedPort {
  readonly protocol: 'tcp' | 'udp';
  readonly hostPort: number;
  readonly port: number;
}

/** A container that forwards ports of the host's loopback to a Service. */
export interface ForwarderSpec {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Identifies the forwarder's settings: another value needs a new container. */
  readonly hash: string;
  /** The id of an image with nft. */
  readonly image: string;
  /** The engine's network of pods. */
  readonly network: string;
  /** The destination of forwarded packets: the address of the Service's load balancer. */
  readonly target: string;
  readonly ports: readonly ForwardedPort[];
  /** The range of pod addresses on that network. Packets from there are not forwarded. */
  readonly closedRange: string;
}

/** A forwarder's container on the engine. */
export interface ForwarderState {
  readonly id: string;
  readonly uid: string;
  readonly hash: string;
  readonly state: 'running' | 'stopped';
}

/** Forwarders as containers of the engine. */
export interface ForwarderRuntime {
  listForwarders(cluster: string, signal: AbortSignal): Promise<readonly ForwarderState[]>;
  /** Starts a forwarder. A failure leaves no container; one cause is a port that is in use on the host. */
  startForwarder(spec: ForwarderSpec, signal: AbortSignal): Promise<void>;
  /** Idempotent. */
  removeForwarder(id: string, signal: AbortSignal): Promise<void>;
}
