/** The size of a terminal in characters. */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** What a client sends to a process. Its failure ends the stream. */
export interface ProcessInput {
  /** Its end is the end of standard input; output continues. The data is valid until the next is asked for. Absent: not joined. */
  readonly stdin?: AsyncIterable<Uint8Array>;
  /** Of the terminal. Ignored without one. */
  readonly sizes?: AsyncIterable<TerminalSize>;
}

/** What a process sends. A terminal's output is standard output. */
export type ProcessOutput =
  /** The data is valid until the next output is asked for. */
  | { readonly kind: 'stdout' | 'stderr'; readonly data: Uint8Array }
  /** Only of a command, and the last of it. */
  | { readonly kind: 'exit'; readonly exitCode: number };

/** Which streams a client joins. */
export interface StreamOptions extends ProcessInput {
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly terminal: 'none' | 'tty';
}

/**
 * Streams between clients and the processes and ports of containers. The data of both directions is taken as it is consumed: no
 * stream is held in memory. Errors are AgentErrors, or the reason of `signal`.
 */
export interface StreamRuntime {
  /** Runs a command. When `signal` is aborted or the outputs are no longer read, it is killed with its children. */
  execStream(
    containerId: string,
    command: readonly string[],
    options: StreamOptions,
    signal: AbortSignal,
  ): AsyncIterable<ProcessOutput>;
  /**
   * Joins the streams of the container's own process from now on. It has a terminal and takes standard input as it was created, whatever
   * the options say. Ends with the container; the process goes on when the client leaves.
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
  /** Kills the commands that an earlier process of this agent left running in a container; never those of others. */
  killLeftovers(containerId: string, signal: AbortSignal): Promise<void>;
}

/** A connection to a port of a pod. Disposing of it resets what is still open. */
export interface PodConnection extends Disposable {
  /** Ends when the pod closes its side; it may still be written to. */
  readonly output: AsyncIterable<Uint8Array>;
  /** Resolves when more may be written. The data is no longer needed then. */
  write(data: Uint8Array): Promise<void>;
  /** Closes this side; `output` continues. */
  end(): void;
}
