import type { Container, Probe } from '@gantry/objects';
import { AgentError } from '../../runtime/agent-error.ts';
import type { ContainerRuntime } from '../../runtime/containers.ts';

/** The container to probe. */
export interface ProbeTarget {
  readonly container: Container;
  readonly containerId: string;
  /** The pod's address. */
  readonly address: string;
  /** Whether the pod uses the host's network. */
  readonly network: 'pod' | 'host';
}

/** The target and the runtime for reaching it. */
export interface ProbeContext extends ProbeTarget {
  readonly containers: Pick<ContainerRuntime, 'exec'>;
}

/** The result of one run of a probe. */
export type ProbeOutcome = { readonly kind: 'success'; readonly warning?: string } | ProbeFailure;

/** A failed run of a probe. `error`: it had no result, so it is repeated at once, like in the kubelet. */
export interface ProbeFailure {
  readonly kind: 'failure';
  readonly message: string;
  readonly cause?: 'error';
}

/** The outcome of a successful probe. */
export const SUCCESS: ProbeOutcome = { kind: 'success' };

/** The outcome of a failed probe, with the kubelet's message. */
export function failure(message: string): ProbeOutcome {
  return { kind: 'failure', message };
}

/** The fields of a probe that select its type. */
type ProbeField = 'exec' | 'httpGet' | 'tcpSocket' | 'grpc';

/** A type of probe. */
export interface ProbeType {
  readonly field: ProbeField;
  /** Runs the probe once; `signal` is its timeout. A thrown error counts as a failure. */
  readonly run: (probe: Probe, context: ProbeContext, signal: AbortSignal) => Promise<ProbeOutcome>;
}

/** Defines a probe type whose `run` receives its own field of the probe. */
export function defineProbeType<Field extends ProbeField>(
  field: Field,
  run: (action: NonNullable<Probe[Field]>, context: ProbeContext, signal: AbortSignal) => Promise<ProbeOutcome>,
): ProbeType {
  return {
    field,
    run: async (probe, context, signal) => {
      const action = probe[field];
      return action === undefined ? SUCCESS : run(action, context, signal);
    },
  };
}

/** A port by number, or by name among the container's ports. AgentError 'Runtime' for an unknown name. */
export function portNumber(port: number | string, container: Container): number {
  if (typeof port === 'number') return port;
  const named = container.ports?.find((candidate) => candidate.name === port)?.containerPort;
  if (named !== undefined) return named;
  // Like in the kubelet, a name that consists of digits is a number.
  if (/^\d+$/.test(port)) return Number(port);
  throw new AgentError('Runtime', `container "${container.name}" has no port with the name "${port}"`);
}

/** Why a connection failed, in the words of Go's dialer, which the kubelet reports. */
export function dialError(error: Error, host: string, port: number): string {
  const { code } = error as NodeJS.ErrnoException;
  const known: Readonly<Record<string, string>> = {
    ECONNREFUSED: 'connect: connection refused',
    EHOSTUNREACH: 'connect: no route to host',
    ENETUNREACH: 'connect: network is unreachable',
  };
  const text = known[code ?? ''];
  return text === undefined ? error.message : `dial tcp ${host}:${port}: ${text}`;
}
