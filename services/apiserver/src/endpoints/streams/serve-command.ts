import { anySignal } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import type { ContainerStart } from '../../agents/agent-streams.ts';
import { type CommandOptions, chooseForCommand, openCommand } from '@gantry/streams';
import { runCommand } from './run-command.ts';
import { StreamRefusedError } from './stream-refusal.ts';
import type { StreamRequest } from './stream-request.ts';

/** At a shutdown, or when the client's credentials are no longer valid. */
const ENDED_BY_SERVER = { kind: 'failure', message: 'the API server has ended the stream' } as const;

/** PodExecOptions and PodAttachOptions. */
export interface AskedStreams {
  readonly stdin?: boolean;
  readonly stdout?: boolean;
  readonly stderr?: boolean;
  readonly tty?: boolean;
  readonly container?: string;
  readonly command?: readonly string[];
}

/** Serves exec or attach. Rejects while the request can still be answered; later failures go to the client's error stream. */
export async function serveCommand(
  request: StreamRequest,
  kind: 'exec' | 'attach',
  asked: AskedStreams,
): Promise<void> {
  const { exchange, upgrade, pod, agent, agents, clock, messages } = request;
  const { container = '', command = [] } = asked;
  const options = commandOptions(asked, kind, terminalOf(pod, container));
  const choice = chooseForCommand(exchange.req);
  const start: ContainerStart = {
    namespace: pod.metadata.namespace ?? '',
    pod: pod.metadata.name ?? '',
    podUid: pod.metadata.uid ?? '',
    container,
    command: [...command],
    ...options,
  };
  using session = await agents.connect(agent);
  const cancelled = new AbortController();
  const stop = (): void => cancelled.abort();
  using signal = anySignal(exchange.signal, cancelled.signal);
  const call = await (kind === 'exec' ? session.exec(start, signal) : session.attach(start, signal));
  try {
    const streams = await openCommand(exchange, upgrade, choice, options, { clock, messages });
    if (streams === undefined) return;
    exchange.audit.started(101);
    exchange.begun();
    streams.ended.addEventListener('abort', stop, { once: true });
    if (streams.ended.aborted) return;
    const outcome = await runCommand(call, streams, kind);
    if (streams.ended.aborted) return;
    await streams.finish(exchange.signal.aborted ? ENDED_BY_SERVER : outcome);
  } finally {
    call.cancel();
  }
}

function terminalOf({ spec }: Pod, name: string): 'tty' | 'none' {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec ?? {};
  const found = [...initContainers, ...containers, ...ephemeralContainers].find((one) => one.name === name);
  return found?.tty === true ? 'tty' : 'none';
}

/** The streams that are asked for, as the kubelet reads them. The terminal of an attach is the container's, whatever the client says. */
export function commandOptions(asked: AskedStreams, kind: 'exec' | 'attach', terminal: 'tty' | 'none'): CommandOptions {
  const { stdin = false, stdout = false } = asked;
  const stderr = asked.stderr === true && asked.tty !== true;
  if (!stdin && !stdout && !stderr) {
    throw new StreamRefusedError(400, 'you must specify at least 1 of stdin, stdout, stderr');
  }
  const tty = kind === 'exec' ? asked.tty === true : terminal === 'tty';
  if (tty && stderr) {
    throw new StreamRefusedError(500, 'rpc error: code = InvalidArgument desc = tty and stderr cannot both be true');
  }
  return { stdin, stdout, stderr, tty };
}
