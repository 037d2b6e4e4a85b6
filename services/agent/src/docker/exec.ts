import type Docker from 'dockerode';
import { type Clock, errorMessage, sleep } from '@gantry/base';
import type { ExecResult } from '../runtime/containers.ts';
import type { ProcessOutput, StreamOptions, TerminalSize } from '../runtime/streams.ts';
import { describeDockerError, fromDocker } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';
import { DETACH_KEYS, DETACH_KEYS_TOLD, hijack } from './hijack.ts';
import { joinStreams } from './join-streams.ts';
import { killTree } from './kill-tree.ts';

/** The kubelet's limit for a probe's output. */
const MAX_OUTPUT_BYTES = 10 * 1024;
/** The interval of asking the engine for the end of a command whose output has ended: the first, and the longest. */
const END_POLL_MS = { first: 10, most: 1000 };
/** How long to wait for a command that was abandoned while it started. If it has not begun by then, it never will. */
const BEGIN_POLL = { everyMs: 100, times: 50 };

const OUTPUTS: StreamOptions = { stdout: true, stderr: true, terminal: 'none' };

/** The engine's state of a command. */
type ExecState = Docker.ExecInspectInfo & { readonly DetachKeys?: string };

/** Runs commands in containers. Commands that are aborted or abandoned are killed with their children, if this process can see them. */
export class DockerExecs {
  readonly #calls: EngineCalls;
  readonly #clock: Clock;
  readonly #warn: (message: string) => void;
  /** The ids of this process's commands. */
  readonly #own = new Set<string>();

  /** `warn` receives failures to kill a command whose caller has left. */
  constructor(calls: EngineCalls, clock: Clock, warn: (message: string) => void) {
    this.#warn = warn;
    this.#calls = calls;
    this.#clock = clock;
  }

  /** Runs a command to its end; limits its output. */
  async run(containerId: string, command: readonly string[], signal: AbortSignal): Promise<ExecResult> {
    const parts: Uint8Array[] = [];
    let size = 0;
    let exitCode = -1;
    for await (const part of this.stream(containerId, command, OUTPUTS, signal)) {
      if (part.kind === 'exit') {
        exitCode = part.exitCode;
        continue;
      }
      if (size < MAX_OUTPUT_BYTES) parts.push(Buffer.from(part.data));
      size += part.data.length;
    }
    return { exitCode, output: Buffer.concat(parts).subarray(0, MAX_OUTPUT_BYTES).toString() };
  }

  async *stream(
    containerId: string,
    command: readonly string[],
    options: StreamOptions,
    signal: AbortSignal,
  ): AsyncIterable<ProcessOutput> {
    let exec: Docker.Exec | undefined;
    let state: 'created' | 'started' | 'ended' = 'created';
    try {
      exec = await this.#create(containerId, command, options, signal);
      const { id } = exec;
      const body = { Detach: false, Tty: options.terminal === 'tty' };
      const socket = await this.#calls.open(signal, (docker, abort) =>
        hijack(docker, { path: `/exec/${id}/start`, body, abort }),
      );
      state = 'started';
      const resize = ({ width: w, height: h }: TerminalSize) =>
        this.#calls.read(signal, (docker, abortSignal) => docker.getExec(id).resize({ w, h, abortSignal }));
      yield* joinStreams(socket, { ...options, resize, clock: this.#clock });
      signal.throwIfAborted();
      const exitCode = await this.#end(id, signal);
      state = 'ended';
      yield { kind: 'exit', exitCode };
    } catch (error) {
      throw signal.aborted ? signal.reason : fromDocker(error, 'Runtime');
    } finally {
      if (exec !== undefined && state !== 'ended') await this.#kill(exec.id, containerId, state);
      if (exec !== undefined) this.#own.delete(exec.id);
    }
  }

  /** Kills the running commands of this container that an earlier agent process has started. */
  async killLeftovers(containerId: string, signal: AbortSignal): Promise<void> {
    try {
      const { ExecIDs: ids } = await this.#calls.read(signal, (docker, abortSignal) =>
        docker.getContainer(containerId).inspect({ abortSignal }),
      );
      for (const id of ids ?? []) {
        if (this.#own.has(id)) continue;
        const { DetachKeys: keys } = await this.#inspect(id, signal);
        if (keys === DETACH_KEYS_TOLD) await this.#kill(id, containerId, 'started');
      }
    } catch (error) {
      throw signal.aborted ? signal.reason : fromDocker(error, 'Runtime');
    }
  }

  async #create(
    containerId: string,
    command: readonly string[],
    { stdin, stdout, stderr, terminal }: StreamOptions,
    signal: AbortSignal,
  ): Promise<Docker.Exec> {
    const options = {
      Cmd: [...command],
      AttachStdin: stdin !== undefined,
      AttachStdout: stdout,
      AttachStderr: stderr,
      Tty: terminal === 'tty',
      DetachKeys: DETACH_KEYS,
    };
    const exec = await this.#calls.read(signal, (docker, abortSignal) =>
      docker.getContainer(containerId).exec({ ...options, abortSignal }),
    );
    this.#own.add(exec.id);
    return exec;
  }

  #inspect(id: string, signal: AbortSignal): Promise<ExecState> {
    return this.#calls.read(signal, (docker, abortSignal) => docker.getExec(id).inspect({ abortSignal }));
  }

  /** The exit code of a command whose output has ended. Its process may end later than its output. */
  async #end(id: string, signal: AbortSignal): Promise<number> {
    for (let delayMs = END_POLL_MS.first; ; delayMs = Math.min(2 * delayMs, END_POLL_MS.most)) {
      const { Running: running, ExitCode: exitCode } = await this.#inspect(id, signal);
      if (!running && exitCode !== null) return exitCode;
      await sleep(this.#clock, delayMs, signal);
    }
  }

  /**
   * Kills the process of an abandoned command, since the engine leaves it running. The engine reports its id in the host's process
   * namespace.
   */
  async #kill(id: string, containerId: string, state: 'created' | 'started'): Promise<void> {
    const { signal } = new AbortController();
    try {
      for (let asked = 0; asked < BEGIN_POLL.times; asked++) {
        const { Running: running, Pid: pid, ExitCode: exitCode } = await this.#inspect(id, signal);
        if (running && pid > 0) {
          await killTree(pid, containerId);
          return;
        }
        if (state === 'started' || exitCode !== null) return;
        await sleep(this.#clock, BEGIN_POLL.everyMs, signal);
      }
    } catch (error) {
      // The engine forgets a command when its container is removed, which ends the command.
      if (describeDockerError(error).status === 404) return;
      this.#warn(`a command of container ${containerId} may run on: ${errorMessage(error)}`);
    }
  }
}
