import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Host } from './agent.ts';

/** Where the agent of a node runs. */
export interface DockerHostOptions {
  /** The socket of the Docker engine. */
  readonly socket: string;
  readonly node: string;
  /** The uid of this pod, whose container says which cluster it belongs to. */
  readonly podUid: string;
}

/** Thrown when the engine does not do what it is asked. */
export class HostError extends Error {
  override readonly name = 'HostError';
}

/** A restart waits until the agent has ended, at most for its grace period. */
const TIMEOUT_MS = 60_000;

/**
 * A node of Gantry: its host is the container of its agent, on the engine that runs this pod. To reboot the node restarts that container. Its
 * pods go on.
 */
export function dockerHost({ socket, node, podUid }: DockerHostOptions): Host {
  const containersWith = async (labels: readonly string[], signal: AbortSignal): Promise<readonly Container[]> => {
    const filters = encodeURIComponent(JSON.stringify({ label: labels }));
    return JSON.parse(await call(socket, 'GET', `/containers/json?all=true&filters=${filters}`, signal)) as Container[];
  };
  const find = async (signal: AbortSignal): Promise<Container> => {
    const [own] = await containersWith([`io.kubernetes.pod.uid=${podUid}`], signal);
    const cluster = own?.Labels['gantry.cluster'];
    if (cluster === undefined) throw new HostError(`no container of pod ${podUid} in a cluster of Gantry`);
    const number = node.slice(node.lastIndexOf('-') + 1);
    const labels = { project: cluster, service: 'agent', 'container-number': number, oneoff: 'False' };
    const found = await containersWith(
      Object.entries(labels).map(([name, value]) => `com.docker.compose.${name}=${value}`),
      signal,
    );
    const [agent, other] = found;
    // While a container is replaced, both exist.
    if (agent === undefined || other !== undefined) {
      throw new HostError(`${found.length} containers are the agent of ${node} in cluster ${cluster}`);
    }
    return agent;
  };
  return {
    boot: async (signal) => {
      const { Id } = await find(signal);
      const { State } = JSON.parse(await call(socket, 'GET', `/containers/${Id}/json`, signal)) as Inspected;
      return `${Id.slice(0, 12)} ${State.StartedAt}`;
    },
    reboot: async (signal) => {
      const { Id } = await find(signal);
      await call(socket, 'POST', `/containers/${Id}/restart`, signal);
    },
  };
}

interface Container {
  readonly Id: string;
  readonly Labels: Readonly<Record<string, string>>;
}

interface Inspected {
  readonly State: { readonly StartedAt: string };
}

async function call(socketPath: string, method: string, path: string, signal: AbortSignal): Promise<string> {
  const stop = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  return await new Promise((resolve, reject) => {
    const sent = request({ socketPath, method, path, signal: stop }, (response) => {
      const { statusCode = 0 } = response;
      text(response).then((body) => {
        if (statusCode < 300) resolve(body);
        else reject(new HostError(`${method} ${path}: ${statusCode} ${body.slice(0, 300)}`));
      }, reject);
    });
    sent.on('error', reject).end();
  });
}
