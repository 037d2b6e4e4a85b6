import type { Cluster, Container } from './cluster.ts';

/** Ports of a server whose packets are dropped. */
export type Ports = readonly number[];

export const API_PORTS: Ports = [6443, 6444];
export const ETCD_PORTS: Ports = [2379];

/** Runs a shell command as root in the network namespace of a container. Returns what it has written. */
async function inNetworkOf(cluster: Cluster, { id }: Container, command: string): Promise<string> {
  const rights = ['--cap-drop', 'ALL', '--cap-add', 'NET_ADMIN', '--user', '0'];
  const image = await cluster.serviceImage();
  return await cluster.docker(['run', '--rm', '--network', `container:${id}`, ...rights, image, 'sh', '-ec', command]);
}

/** Of a client: to a server and from it, or only from it. Of a server (`served`): from its clients and to them. */
type Direction = 'both' | 'answers' | 'served';

const HEAL = 'nft destroy table inet cut';

function dropping(ports: Ports, direction: Direction): string {
  const set = `{ ${ports.join(', ')} }`;
  const answers = `chain answers { type filter hook input priority 0; tcp sport ${set} drop; }`;
  const requests = `chain requests { type filter hook output priority 0; tcp dport ${set} drop; }`;
  const served = [
    `chain asked { type filter hook input priority 0; tcp dport ${set} drop; }`,
    `chain answering { type filter hook output priority 0; tcp sport ${set} drop; }`,
  ];
  const chains = direction === 'served' ? served : direction === 'both' ? [answers, requests] : [answers];
  return `nft '${['table inet cut {', ...chains, '}'].join('\n')}'`;
}

/**
 * Drops packets between a client's container and these ports of all servers, or between a server's container and all its clients, without
 * resets: those of both directions, or only the answers.
 * The network works again after `heal`.
 */
export async function cut(
  cluster: Cluster,
  container: Container,
  ports: Ports,
  direction: Direction = 'both',
): Promise<void> {
  await inNetworkOf(cluster, container, dropping(ports, direction));
}

/** Ends the cut of a container after some seconds. Resolves with the time of the heal, in Unix milliseconds. */
export async function healAfter(cluster: Cluster, client: Container, seconds: number): Promise<number> {
  return Number(await inNetworkOf(cluster, client, `sleep ${seconds}; ${HEAL}; date +%s%3N`));
}

/** Ends the cut of a container; nothing happens without one. */
export async function heal(cluster: Cluster, client: Container): Promise<void> {
  await inNetworkOf(cluster, client, HEAL);
}
