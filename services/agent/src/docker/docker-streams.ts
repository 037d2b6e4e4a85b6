import type { Socket } from 'node:net';
import { type Clock, raceAbort, sleep } from '@gantry/base';
import { AgentError } from '../runtime/agent-error.ts';
import type { PodConnection, ProcessOutput, StreamOptions, StreamRuntime, TerminalSize } from '../runtime/streams.ts';
import { fromDocker } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';
import type { DockerExecs } from './exec.ts';
import { DETACH_KEYS, hijack } from './hijack.ts';
import { discard, joinStreams } from './join-streams.ts';
import { NamespaceDialer } from './namespace-dialer.ts';
import { written } from './written.ts';

/** How long to wait for the last output of a container that has ended. */
const LAST_OUTPUT_MS = 2000;

/** Streams over hijacked connections to the engine, and connections into the network namespaces of sandboxes. */
export function dockerStreams(calls: EngineCalls, execs: DockerExecs, clock: Clock): StreamRuntime {
  const dialer = new NamespaceDialer(clock);
  return {
    execStream: (id, command, options, signal) => execs.stream(id, command, options, signal),
    attach: (id, options, signal) => attach({ calls, clock }, id, options, signal),
    connect: (id, port, signal) => connect(calls, dialer, id, port, signal),
    killLeftovers: (id, signal) => execs.killLeftovers(id, signal),
  };
}

async function* attach(
  { calls, clock }: { readonly calls: EngineCalls; readonly clock: Clock },
  id: string,
  { stdin, sizes, stdout, stderr }: Omit<StreamOptions, 'terminal'>,
  signal: AbortSignal,
): AsyncIterable<ProcessOutput> {
  const left = new AbortController();
  let state: 'running' | 'ended' = 'running';
  try {
    const { Config: config, State: found } = await inspect(calls, id, signal);
    if (!found.Running) throw new AgentError('NotFound', `container ${id} is not running`);
    const given = config.OpenStdin ? stdin : undefined;
    const query = {
      stream: '1',
      stdin: given === undefined ? '0' : '1',
      stdout: stdout ? '1' : '0',
      stderr: stderr ? '1' : '0',
      detachKeys: DETACH_KEYS,
    };
    const path = `/containers/${id}/attach`;
    const socket = await calls.open(signal, (docker, abort) => hijack(docker, { path, query, abort }));
    const resize = ({ width: w, height: h }: TerminalSize) =>
      calls.read(signal, (docker, abortSignal) => docker.getContainer(id).resize({ w, h, abortSignal }));
    const terminal = config.Tty ? 'tty' : 'none';
    ended(calls, clock, id, left.signal).then(
      () => {
        state = 'ended';
        socket.destroy();
      },
      // The client has left, or the engine is gone. The connection has ended in both cases.
      () => undefined,
    );
    if (given === undefined && stdin !== undefined) void discard(stdin, left.signal);
    yield* joinStreams(socket, { stdin: given, sizes, terminal, resize, clock });
    signal.throwIfAborted();
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (state === 'running') throw fromDocker(error, 'Runtime');
  } finally {
    left.abort();
  }
}

/**
 * Resolves a while after the container has ended. If it ended before the attachment, the engine waits for it to start again and does not
 * close the connection.
 */
async function ended(calls: EngineCalls, clock: Clock, id: string, signal: AbortSignal): Promise<void> {
  await calls.read(
    signal,
    (docker, abortSignal) => docker.getContainer(id).wait({ condition: 'not-running', abortSignal }),
    Number.POSITIVE_INFINITY,
  );
  await sleep(clock, LAST_OUTPUT_MS, signal);
}

async function connect(
  calls: EngineCalls,
  dialer: NamespaceDialer,
  id: string,
  port: number,
  signal: AbortSignal,
): Promise<PodConnection> {
  try {
    const pid = await runningPid(calls, id, signal);
    const verify = async () => {
      // Use a signal of its own: the first client may leave while others wait for this result.
      if ((await runningPid(calls, id, new AbortController().signal)) !== pid) throw notRunning(id);
    };
    return connectionOf(await dialer.connect({ key: id, pid, verify }, port, signal), signal);
  } catch (error) {
    throw signal.aborted ? signal.reason : fromDocker(error, 'Runtime');
  }
}

async function runningPid(calls: EngineCalls, id: string, signal: AbortSignal): Promise<number> {
  const { State: state } = await inspect(calls, id, signal);
  if (!state.Running || state.Pid === 0) throw notRunning(id);
  return state.Pid;
}

function notRunning(id: string): AgentError {
  return new AgentError('NotFound', `sandbox ${id} is not running`);
}

function inspect(calls: EngineCalls, id: string, signal: AbortSignal) {
  return calls.read(signal, (docker, abortSignal) => docker.getContainer(id).inspect({ abortSignal }));
}

function connectionOf(socket: Socket, signal: AbortSignal): PodConnection {
  // Errors are reported by the iteration and by writes. This handler keeps later errors from ending the process.
  socket.on('error', () => undefined);
  return {
    // The pod may close its side while the connection stays open for writing.
    output: socket.iterator({ destroyOnReturn: false }),
    write: (data) => raceAbort(written(socket, data), signal),
    end: () => socket.end(),
    [Symbol.dispose]: () => socket.destroy(),
  };
}
