import type { Probe } from '@gantry/objects';
import { errorMessage, DeadlineError } from '@gantry/base';
import type { ContainerRuntime } from '../runtime/containers.ts';
import {
  failure,
  type ProbeOutcome,
  type ProbeTarget,
  type ProbeType,
  SUCCESS,
  defineProbeType,
  dialError,
  portNumber,
} from './probe-types/probe-type.ts';
import { grpcProbe } from './probe-types/grpc.ts';
import { expandCommand } from '../spec/expand.ts';
import { ProgramSize } from '../spec/program-size.ts';
import { connect } from 'node:net';
import { probeLookup } from './probe-types/probe-host.ts';
import { httpGetProbe } from './probe-types/http-request.ts';

/** Opens a TCP connection. An established connection is a success. */
const tcpSocketProbe = defineProbeType('tcpSocket', (action, { container, ...target }, signal) => {
  const host = action.host || target.address;
  const guard = host === target.address ? undefined : probeLookup(target);
  guard?.check(host);
  const port = portNumber(action.port, container);
  return new Promise((resolve) => {
    const socket = connect({ host, port, signal, lookup: guard?.lookup });
    socket.on('connect', () => {
      socket.destroy();
      resolve(SUCCESS);
    });
    socket.on('error', (error) =>
      resolve(failure(signal.aborted ? `dial tcp ${host}:${port}: i/o timeout` : dialError(error, host, port))),
    );
  });
});

/** Runs a command in the container. Exit code 0 is a success. */
const execProbe = defineProbeType('exec', async (action, { container, containers, containerId }, signal) => {
  const literals = new Map((container.env ?? []).map(({ name, value = '' }) => [name, value]));
  const command = expandCommand('exec.command', action.command ?? [], literals, new ProgramSize());
  const outcome = await containers.exec(containerId, command, signal).then(
    ({ exitCode, output }): ProbeOutcome => (exitCode === 0 ? SUCCESS : failure(output)),
    (error: unknown) => failure(errorMessage(error)),
  );
  if (outcome.kind === 'failure' && signal.reason instanceof DeadlineError) {
    return failure(`command ${JSON.stringify(command.join(' '))} timed out`);
  }
  return outcome;
});

/** To add a probe type, add a file to `probe-types/` and a line here. */
const PROBE_TYPES: readonly ProbeType[] = [execProbe, httpGetProbe, tcpSocketProbe, grpcProbe];

/** Runs a probe once; `signal` is its timeout. Never rejects: an error is a failure with a message like the kubelet's. */
export async function performProbe(
  probe: Probe,
  target: ProbeTarget,
  containers: Pick<ContainerRuntime, 'exec'>,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const type = PROBE_TYPES.find(({ field }) => probe[field] !== undefined);
  if (type === undefined) return SUCCESS;
  try {
    return await type.run(probe, { ...target, containers }, signal);
  } catch (error) {
    return failure(errorMessage(error));
  }
}
