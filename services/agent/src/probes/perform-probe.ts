import type { Probe } from '@gantry/objects';
import { errorMessage } from '@gantry/base';
import type { ContainerRuntime } from '../runtime/containers.ts';
import { failure, type ProbeOutcome, type ProbeTarget, type ProbeType, SUCCESS } from './probe-types/probe-type.ts';
import { execProbe } from './probe-types/exec.ts';
import { grpcProbe } from './probe-types/grpc.ts';
import { httpGetProbe } from './probe-types/http-get.ts';
import { tcpSocketProbe } from './probe-types/tcp-socket.ts';

/** A new probe type is a file in `probe-types/` and a line here. */
const PROBE_TYPES: readonly ProbeType[] = [execProbe, httpGetProbe, tcpSocketProbe, grpcProbe];

/** Runs a probe once; `signal` is its timeout. Never rejects: an error is a failure with kubelet's kind of message. */
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
