import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { create, type Message } from '@bufbuild/protobuf';
import { type Client, credentials, makeGenericClientConstructor, type ServiceError } from '@grpc/grpc-js';
import type { Container, HTTPGetAction, Probe } from '@gantry/api';
import { errorMessage } from '@gantry/base';
import { Health, HealthCheckRequestSchema, type HealthCheckResponse, serviceDefinition } from '@gantry/proto';
import type { ContainerRuntime } from '../runtime/runtime.ts';

export interface ProbeTarget {
  readonly container: Container;
  readonly containerId: string;
  /** The pod's address. */
  readonly address: string;
}

export type ProbeOutcome = { readonly kind: 'success' } | { readonly kind: 'failure'; readonly message: string };

const SUCCESS: ProbeOutcome = { kind: 'success' };
const SERVING = 1;

/** Runs a probe once; `signal` is its timeout. What goes wrong is a failure with kubelet's kind of message, never an error. */
export async function performProbe(
  probe: Probe,
  target: ProbeTarget,
  containers: ContainerRuntime,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  try {
    if (probe.exec !== undefined) return await execProbe(probe.exec.command ?? [], target, containers, signal);
    if (probe.httpGet !== undefined) return await httpProbe(probe.httpGet, target, signal);
    if (probe.tcpSocket !== undefined) {
      const { host, port } = probe.tcpSocket;
      return await tcpProbe(host ?? target.address, portNumber(port, target.container), signal);
    }
    if (probe.grpc !== undefined)
      return await grpcProbe(target.address, probe.grpc.port, probe.grpc.service ?? '', signal);
    return SUCCESS;
  } catch (error) {
    return { kind: 'failure', message: errorMessage(error) };
  }
}

/** A port by number, or by its name among the container's ports. */
export function portNumber(port: number | string, container: Container): number {
  if (typeof port === 'number') return port;
  const named = container.ports?.find((candidate) => candidate.name === port)?.containerPort;
  return named ?? Number(port);
}

async function execProbe(
  command: readonly string[],
  { containerId }: ProbeTarget,
  containers: ContainerRuntime,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const { exitCode, output } = await containers.exec(containerId, command, signal);
  return exitCode === 0 ? SUCCESS : { kind: 'failure', message: output };
}

function httpProbe(
  action: HTTPGetAction,
  { container, address }: ProbeTarget,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const scheme = (action.scheme ?? 'HTTP').toLowerCase();
  const path = action.path === undefined || action.path === '' ? '/' : action.path;
  const port = portNumber(action.port, container);
  const url = `${scheme}://${action.host ?? address}:${port}${path.startsWith('/') ? path : `/${path}`}`;
  const headers: Record<string, string> = { 'User-Agent': 'kube-probe/1.36', Accept: '*/*', Connection: 'close' };
  for (const { name, value } of action.httpHeaders ?? []) headers[name] = value;
  return new Promise((resolve) => {
    const options = { signal, headers, agent: false, ...(scheme === 'https' ? { rejectUnauthorized: false } : {}) };
    const call = (scheme === 'https' ? httpsRequest : httpRequest)(url, options, (response) => {
      const code = response.statusCode ?? 0;
      response.destroy();
      resolve(code >= 200 && code < 400 ? SUCCESS : failure(`HTTP probe failed with statuscode: ${code}`));
    });
    call.on('error', (error) => {
      const why = signal.aborted
        ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
        : dialError(error, action.host ?? address, port);
      resolve(failure(`Get "${url}": ${why}`));
    });
    call.end();
  });
}

function tcpProbe(host: string, port: number, signal: AbortSignal): Promise<ProbeOutcome> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, signal });
    socket.on('connect', () => {
      socket.destroy();
      resolve(SUCCESS);
    });
    socket.on('error', (error) =>
      resolve(failure(signal.aborted ? `dial tcp ${host}:${port}: i/o timeout` : dialError(error, host, port))),
    );
  });
}

type HealthClient = Client & {
  check(
    request: Message,
    callback: (error: ServiceError | null, response?: HealthCheckResponse) => void,
  ): { cancel(): void };
};

function grpcProbe(address: string, port: number, service: string, signal: AbortSignal): Promise<ProbeOutcome> {
  const Constructor = makeGenericClientConstructor(serviceDefinition(Health), 'Health');
  const client = new Constructor(`${address}:${port}`, credentials.createInsecure()) as unknown as HealthClient;
  return new Promise<ProbeOutcome>((resolve) => {
    const call = client.check(create(HealthCheckRequestSchema, { service }), (error, response) => {
      if (signal.aborted)
        resolve(failure(`timeout: failed to connect service "${address}:${port}" within its deadline`));
      else if (error !== null) resolve(failure(`error: health rpc failed: ${error.message}`));
      else if (response?.status === SERVING) resolve(SUCCESS);
      else resolve(failure(`service unhealthy (responded with "${response?.status ?? 0}")`));
    });
    signal.addEventListener('abort', () => call.cancel(), { once: true });
  }).finally(() => client.close());
}

function failure(message: string): ProbeOutcome {
  return { kind: 'failure', message };
}

function dialError(error: Error, host: string, port: number): string {
  const { code } = error as NodeJS.ErrnoException;
  const known: Readonly<Record<string, string>> = {
    ECONNREFUSED: 'connect: connection refused',
    EHOSTUNREACH: 'connect: no route to host',
    ENETUNREACH: 'connect: network is unreachable',
  };
  const text = known[code ?? ''];
  return text === undefined ? error.message : `dial tcp ${host}:${port}: ${text}`;
}
