import type Docker from 'dockerode';
import { type Clock, errorMessage, pause, withDeadline } from '@gantry/base';
import { mustRun, type Shell } from '../machine/shell.ts';
import { nameOf } from './plan.ts';

interface ConnectionHold {
  readonly clusterId: string;
  readonly shell: Shell;
  readonly clock: Clock;
  readonly note: (text: string) => void;
}

/** After this time, new connections are refused instead of delayed, also if this process has ended. */
const HOLD_SECONDS = 60;
/** For requests that run when the API servers are told to end connections: others of a client wait for its next connection. */
const DRAIN_MS = 2000;
/** Until a load balancer knows API servers. Without any, it closes each connection. */
const CONNECT_MS = 20_000;
const POLL_MS = 50;

/** The ports of containers that are published, with those of the host. */
interface PublishedPort {
  readonly container: number;
  readonly host: number;
}

export function publishedPorts({
  HostConfig,
}: Pick<Docker.ContainerInspectInfo, 'HostConfig'>): readonly PublishedPort[] {
  const bindings: Readonly<Record<string, readonly { readonly HostPort: string }[] | null>> =
    HostConfig.PortBindings ?? {};
  return Object.entries(bindings).flatMap(([port, hosts]) =>
    (hosts ?? []).map(({ HostPort }) => ({ container: Number.parseInt(port, 10), host: Number(HostPort) })),
  );
}

const tableOf = (clusterId: string) => `gantry-hold-${clusterId}`;

/** Rules that drop the first packet of new connections to these ports of the host. The kernel ends that by itself. */
function holdRules(clusterId: string, ports: readonly PublishedPort[]): string {
  const elements = [...new Set(ports.map(({ host }) => `${host} timeout ${HOLD_SECONDS}s`))].join(', ');
  return `table inet ${tableOf(clusterId)} {
    set ports { type inet_service; flags timeout; elements = { ${elements} } }
    chain held {
      type filter hook prerouting priority raw;
      fib daddr type local tcp dport @ports tcp flags & (fin | syn | rst | ack) == syn drop
    }
  }`;
}

/**
 * Lets new connections to the published ports of a container wait until the hold is disposed of: the kernel of a client sends the first packet
 * again after a second. Without a listener they would be refused, which clients do not repeat. Where that does not work, it says so and holds
 * nothing.
 */
export async function holdConnections(hold: ConnectionHold, ports: readonly PublishedPort[]): Promise<AsyncDisposable> {
  const { clusterId, shell, note } = hold;
  // It is in the network namespace of the host, with the right to change its rules.
  const host = nameOf(clusterId, { service: 'pod-egress', number: 1 });
  const nft = (rules: string) => mustRun(shell, 'docker', ['exec', host, 'nft', rules]);
  const destroy = `destroy table inet ${tableOf(clusterId)}`;
  try {
    await nft(`${destroy}; ${holdRules(clusterId, ports)}`);
  } catch (error) {
    note(`new connections are refused until the new container listens: ${errorMessage(error)}`);
    return { [Symbol.asyncDispose]: async () => undefined };
  }
  return { [Symbol.asyncDispose]: async () => void (await nft(destroy)) };
}

/** In a container with bash: fails while a connection to the port is open. */
const isDrained = (port: number) => `while read -r _ local _ state _; do
  if [[ $local == *:${port.toString(16).toUpperCase().padStart(4, '0')} && $state == 01 ]]; then exit 1; fi
done </proc/net/tcp`;

/** In a container with bash: fails if the load balancer closes a connection at once. `read` returns more than 128 when it has waited in vain. */
const isConnected = (port: number) =>
  `exec 3<>/dev/tcp/127.0.0.1/${port} || exit 1; read -rt 0.5 -u 3; [[ $? -gt 128 ]]`;

/**
 * Lets the API servers end the connections of REST clients, each after its running responses, and waits a moment for that. Streams of bytes and
 * silent HTTP/1.1 connections stay.
 */
export async function drainBalancer(
  hold: ConnectionHold,
  balancer: string,
  apiServers: readonly string[],
  ports: readonly PublishedPort[],
): Promise<void> {
  await mustRun(hold.shell, 'docker', ['kill', '--signal', 'SIGWINCH', ...apiServers]);
  await succeedsWithin(
    hold,
    balancer,
    ports.map(({ container }) => isDrained(container)),
    DRAIN_MS,
  );
}

/** Waits until a new load balancer has API servers for its connections. */
export async function untilConnected(
  hold: ConnectionHold,
  balancer: string,
  ports: readonly PublishedPort[],
): Promise<void> {
  const checks = ports.map(({ container }) => isConnected(container));
  if (!(await succeedsWithin(hold, balancer, checks, CONNECT_MS))) hold.note('the load balancer has no API server yet');
}

/** Whether all checks have succeeded in the container before the time is over. */
async function succeedsWithin(
  { shell, clock }: ConnectionHold,
  container: string,
  checks: readonly string[],
  limitMs: number,
): Promise<boolean> {
  const script = checks.map((check) => `(${check})`).join(' && ');
  using deadline = withDeadline(clock, new AbortController().signal, limitMs);
  while (!deadline.aborted) {
    const { code } = await shell.run('docker', ['exec', container, 'bash', '-c', script]);
    if (code === 0) return true;
    await pause(clock, POLL_MS, deadline);
  }
  return false;
}
