/** A folder of an NFS server. */
export interface NfsSource {
  /** A name or an address, IPv6 without brackets. */
  readonly server: string;
  readonly path: string;
  /** As mount(8) takes them; each may be several, divided by commas. */
  readonly options: readonly string[];
  readonly access: 'read-write' | 'read-only';
}

/**
 * File systems of the network, mounted in the state folder by the kernel of the engine's host. They stay when the agent ends, and
 * `HostMounts.remove` takes them away.
 */
export interface NetworkMounts {
  /** Makes `folder` that of the server. One where something is mounted is kept. AgentError 'FailedMount' with the reason. */
  mountNfs(folder: string, source: NfsSource, signal: AbortSignal): Promise<'made' | 'kept'>;
  /**
   * AgentError 'FailedMount' unless something is mounted at `folder` and its server answers. Call it before this process opens what is in
   * it: the kernel waits for a server without end, and the few threads that read files would wait with it.
   */
  checkAnswers(folder: string, signal: AbortSignal): Promise<void>;
}
