/** The size of a terminal in characters. */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** What a client sends to a process. If it fails, the stream ends. */
export interface ProcessInput {
  /**
   * The end of the iterable closes standard input; output continues. Data is valid until the next element is requested. Absent:
   * standard input is not attached.
   */
  readonly stdin?: AsyncIterable<Uint8Array>;
  /** Terminal sizes; ignored without a terminal. */
  readonly sizes?: AsyncIterable<TerminalSize>;
}

/** What a process sends. Output of a terminal is `stdout`. */
export type ProcessOutput =
  /** Data is valid until the next element is requested. */
  | { readonly kind: 'stdout' | 'stderr'; readonly data: Uint8Array }
  /** Only for a command; always the last element. */
  | { readonly kind: 'exit'; readonly exitCode: number };

/** Which streams a client attaches to. */
export interface StreamOptions extends ProcessInput {
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly terminal: 'none' | 'tty';
}

/**
 * Streams between clients and the processes and ports of containers. Both directions apply back-pressure: data is read as it is
 * consumed, and streams are not buffered in memory. Errors are AgentErrors, or the reason of `signal`.
 */
export interface StreamRuntime {
  /** Runs a command. When `signal` is aborted or the caller stops reading the output, the command and its children are killed. */
  execStream(
    containerId: string,
    command: readonly string[],
    options: StreamOptions,
    signal: AbortSignal,
  ): AsyncIterable<ProcessOutput>;
  /**
   * Attaches to the streams of the container's main process from now on. Whether it has a terminal and standard input depends on
   * how the container was created, not on the options. Ends with the container; the process continues when the client
   * disconnects.
   */
  attach(
    containerId: string,
    options: Omit<StreamOptions, 'terminal'>,
    signal: AbortSignal,
  ): AsyncIterable<ProcessOutput>;
  /**
   * Opens a connection to a port on the loopback address of the sandbox's network; resolves when it is open. AgentError
   * 'ConnectFailed' when nothing listens there.
   */
  connect(sandboxId: string, port: number, signal: AbortSignal): Promise<PodConnection>;
  /** Kills commands that an earlier process of this agent left running in a container; never commands of others. */
  killLeftovers(containerId: string, signal: AbortSignal): Promise<void>;
}

/** A connection to a port of a pod. Disposing of it resets a connection that is still open. */
export interface PodConnection extends Disposable {
  /** Ends when the pod closes its side; writing is still possible then. */
  readonly output: AsyncIterable<Uint8Array>;
  /** Resolves when more data may be written. The caller may reuse `data` then. */
  write(data: Uint8Array): Promise<void>;
  /** Closes this side; `output` continues. */
  end(): void;
}
