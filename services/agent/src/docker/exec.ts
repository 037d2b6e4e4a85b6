import { addAbortSignal } from 'node:stream';
import type Docker from 'dockerode';
import { type Clock, errorMessage, sleep } from '@gantry/base';
import type { ExecResult } from '../runtime/containers.ts';
import type { ProcessOutput, StreamOptions, TerminalSize } from '../runtime/streams.ts';
import { describeDockerError, fromDocker } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';
import type { EngineSocket } from './engine-socket.ts';
import { DETACH_KEYS, DETACH_KEYS_TOLD, EngineRefusal, hijack } from './hijack.ts';
import { joinStreams } from './join-streams.ts';
import { killTree } from './kill-tree.ts';

/** The kubelet's limit for a probe's output. */
const MAX_OUTPUT_BYTES = 10 * 1024;
/** The interval of asking the engine for the end of a command whose output has ended: the first, and the longest. */
const END_POLL_MS = { first: 10, most: 1000 };
/** How long to wait for an abandoned command to begin. `yes`: the engine has accepted its start; `perhaps`: that is unknown. */
const BEGIN_MS = { perhaps: 10_000, yes: 120_000 };
/** How often to try to kill a command that cannot be killed, or about which the engine gives no answer. */
const MAX_FAILURES = 10;

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
    let started: 'no' | 'perhaps' | 'yes' = 'no';
    try {
      exec = await this.#create(containerId, command, options, signal);
      const { id } = exec;
      started = 'perhaps';
      const socket = await this.#start(id, options);
      started = 'yes';
      addAbortSignal(signal, socket);
      const resize = ({ width: w, height: h }: TerminalSize) =>
        this.#calls.read(signal, (docker, abortSignal) => docker.getExec(id).resize({ w, h, abortSignal }));
      yield* joinStreams(socket, { ...options, resize, clock: this.#clock });
      signal.throwIfAborted();
      const exitCode = await this.#end(id, signal);
      started = 'no';
      yield { kind: 'exit', exitCode };
    } catch (error) {
      if (error instanceof EngineRefusal) started = 'no';
      throw signal.aborted ? signal.reason : fromDocker(error, 'Runtime');
    } finally {
      if (exec !== undefined && started !== 'no') await this.#kill(exec.id, containerId, started);
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
        const { DetachKeys: keys, Running: running } = await this.#inspect(id, signal);
        if (keys === DETACH_KEYS_TOLD && running) await this.#kill(id, containerId, 'yes');
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

  /**
   * Starts a command and returns its connection. Waits for the engine's answer even if the client leaves meanwhile: only then is it known
   * whether there is a process to kill. The engine answers before the process begins.
   */
  #start(id: string, { terminal }: StreamOptions): Promise<EngineSocket> {
    const body = { Detach: false, Tty: terminal === 'tty' };
    return this.#calls.open(new AbortController().signal, (docker, abort) =>
      hijack(docker, { path: `/exec/${id}/start`, body, abort }),
    );
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
   * Kills the process of an abandoned command, since the engine leaves it running, and waits for its end. The process may not have begun yet.
   * The engine reports its id in the host's process namespace.
   */
  async #kill(id: string, containerId: string, started: 'perhaps' | 'yes'): Promise<void> {
    const { signal } = new AbortController();
    let problem: unknown = 'its process is not found';
    let failures = 0;
    let waitedMs = 0;
    for (let delayMs = END_POLL_MS.first; failures < MAX_FAILURES; delayMs = Math.min(2 * delayMs, END_POLL_MS.most)) {
      try {
        const { Running: running, Pid: pid, ExitCode: exitCode } = await this.#inspect(id, signal);
        const hasBegun = running && pid > 0;
        if (!running && exitCode !== null) return;
        if (!running && waitedMs >= BEGIN_MS[started]) return;
        failures = !hasBegun || (await killTree(pid, containerId)) === 'killed' ? 0 : failures + 1;
      } catch (error) {
        // The engine forgets a command when its container is removed, which ends the command.
        if (describeDockerError(error).status === 404) return;
        problem = error;
        failures++;
      }
      await sleep(this.#clock, delayMs, signal);
      waitedMs += delayMs;
    }
    this.#warn(`a command of container ${containerId} may run on: ${errorMessage(problem)}`);
  }
}
