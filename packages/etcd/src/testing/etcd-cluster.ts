import { buffer } from 'node:stream/consumers';
import type { TlsMaterial } from '@gantry/tls';
import type { ContainerRuntimeClient, StartedNetwork, StartedTestContainer } from 'testcontainers';
import type { Issue } from './certificates.ts';
import { freezeContainer } from '@gantry/base';
import { freePort } from '@gantry/base/testing';
import type { CallOptions } from '../ports.ts';

/** One member of a throw-away cluster: a container. */
export interface ClusterMember {
  /** Does not change when the member is restarted or replaced. */
  readonly endpoint: string;
  /** Process id on the engine's machine. */
  readonly pid: number;
  /** Pauses every process of the member: connections stay open but nothing responds. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** Takes the member off its network: packets to it and from it are lost. */
  cutOff(): Promise<void>;
  rejoin(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Starts a killed member with its data. Resolves when it serves clients again. */
  start(): Promise<void>;
  /** An archive of the member's data, as a backup or a snapshot has it. */
  files(): Promise<Buffer>;
  /** Removes the member and its data, and starts a new member in its place. */
  replace(): Promise<void>;
}

/** A real etcd in containers, on its own network. */
export interface EtcdCluster extends AsyncDisposable {
  readonly members: readonly ClusterMember[];
  readonly endpoints: readonly string[];
}

export interface EtcdClusterOptions {
  readonly size?: number;
  /** Additional arguments for each member. */
  readonly args?: readonly string[];
  /** Issues the certificate of every member's client port. Clients need one of the same authority. */
  readonly tls?: Issue;
}

/** The etcd image: the official one, or one made from Debian packages by deploy/bin/ensure-images. */
const IMAGE = process.env['GANTRY_ETCD_IMAGE'] ?? 'quay.io/coreos/etcd:v3.5.30';
const CLIENT_PORT = 2379;
const PEER_PORT = 2380;
/** The image with which this release of testcontainers removes containers. */
export const REAPER_IMAGE = process.env['RYUK_CONTAINER_IMAGE'] ?? 'testcontainers/ryuk:0.14.0';
const START_TIMEOUT_MS = 60_000;
const PATIENCE_MS = 60_000;
const CERTIFICATES = '/etc/etcd/tls';

/**
 * Labels by which a later run of the same checkout finds containers that an interrupted run has left. One that runs beside another one has a
 * name, and leaves that one's containers alone.
 */
export const CONTAINER_LABELS: Readonly<Record<string, string>> = {
  'gantry.test': [process.cwd(), process.env['GANTRY_TEST_NAME']].filter(Boolean).join(' '),
};

/** The options of a call that a test makes. The default time limits are those of services, and a busy machine can stand still for longer. */
export function patiently(): CallOptions {
  return { signal: AbortSignal.timeout(PATIENCE_MS), timeoutMs: PATIENCE_MS };
}

/** Starts a cluster with the settings of production. Resolves when every member serves clients. */
export async function startEtcdCluster(options: EtcdClusterOptions = {}): Promise<EtcdCluster> {
  // Loaded when a cluster starts: unit tests need only the in-memory model.
  const { Network } = await import('testcontainers');
  const runtime = await prepareContainers();
  const host = clientHost(runtime);
  const tls = await options.tls?.('etcd', host);
  const network = await new Network().start();
  const names = Array.from({ length: options.size ?? 3 }, (_, index) => `m${index}`);
  const members: Member[] = [];
  const stop = async () => {
    // One after the other: Docker Engine 20.10 can deadlock when two containers leave a network at the same moment.
    for (const member of members) await member.remove();
    await network.stop();
  };
  const otherThan = (name: string) => {
    const other = members[(names.indexOf(name) + 1) % names.length];
    if (other === undefined || names.length === 1) throw new Error('a cluster of one member cannot replace it');
    return other;
  };
  try {
    for (const name of names) {
      // The engine publishes it at all addresses, and again after each restart.
      const port = await freePort('0.0.0.0');
      members.push(
        new Member({ name, names, host, port, network, runtime, options, tls, other: () => otherThan(name) }),
      );
    }
    await Promise.all(members.map((member) => member.create('new')));
  } catch (error) {
    await stop();
    throw error;
  }
  return { members, endpoints: members.map((member) => member.endpoint), [Symbol.asyncDispose]: stop };
}

/**
 * Prepares testcontainers in this process; call it before starting anything. If the image of its reaper is missing, as on machines without
 * a registry, the test removes its containers itself, and a later run finds the rest by label.
 */
export async function prepareContainers(): Promise<ContainerRuntimeClient> {
  const { getContainerRuntimeClient, ImageName } = await import('testcontainers');
  const runtime = await getContainerRuntimeClient();
  const reaper = ImageName.fromString(REAPER_IMAGE);
  if (!(await runtime.image.exists(reaper))) process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true';
  return runtime;
}

/** The host of published ports: this machine, or the gateway of its network when the tests run in a container. */
function clientHost({ info }: ContainerRuntimeClient): string {
  const { host } = info.containerRuntime;
  return host === 'localhost' ? '127.0.0.1' : host;
}

interface MemberOptions {
  readonly name: string;
  readonly names: readonly string[];
  readonly host: string;
  readonly port: number;
  readonly network: StartedNetwork;
  readonly runtime: ContainerRuntimeClient;
  readonly options: EtcdClusterOptions;
  readonly tls: TlsMaterial | undefined;
  /** A member that runs while this one is replaced. */
  readonly other: () => Member;
}

class Member implements ClusterMember {
  readonly endpoint: string;
  readonly #options: MemberOptions;
  #container: StartedTestContainer | undefined;
  #pid = 0;
  #state: 'running' | 'frozen' | 'killed' = 'killed';

  constructor(options: MemberOptions) {
    this.endpoint = `${options.tls === undefined ? 'http' : 'https'}://${options.host}:${options.port}`;
    this.#options = options;
  }

  get pid(): number {
    return this.#pid;
  }

  async create(state: 'new' | 'existing'): Promise<void> {
    const { GenericContainer, Wait } = await import('testcontainers');
    const { name, port, network, tls } = this.#options;
    const container = new GenericContainer(IMAGE)
      .withLabels({ ...CONTAINER_LABELS })
      .withNetwork(network)
      .withNetworkAliases(name)
      .withExposedPorts({ container: CLIENT_PORT, host: port })
      .withCommand(['/usr/local/bin/etcd', ...this.#args(state)])
      .withStartupTimeout(START_TIMEOUT_MS)
      .withWaitStrategy(Wait.forLogMessage(/ready to serve client requests/));
    if (tls !== undefined) {
      const { ca, cert, key } = tls;
      container.withCopyContentToContainer(
        Object.entries({ 'ca.crt': ca, 'tls.crt': cert, 'tls.key': key }).map(([file, content]) => ({
          target: `${CERTIFICATES}/${file}`,
          content,
        })),
      );
    }
    this.#container = await container.start();
    await this.#started();
  }

  async freeze(): Promise<void> {
    await freezeContainer(this.#handle());
    this.#state = 'frozen';
  }

  async thaw(): Promise<void> {
    await this.#handle().unpause();
    this.#state = 'running';
  }

  async cutOff(): Promise<void> {
    const { network, runtime } = this.#options;
    await runtime.network.getById(network.getId()).disconnect({ Container: this.#handle().id, Force: true });
  }

  async rejoin(): Promise<void> {
    const { name, network, runtime } = this.#options;
    await runtime.container.connectToNetwork(this.#handle(), runtime.network.getById(network.getId()), [name]);
  }

  async kill(): Promise<void> {
    if (this.#state === 'killed') return;
    if (this.#state === 'frozen') await this.thaw();
    const handle = this.#handle();
    await handle.kill({ signal: 'SIGKILL' });
    await handle.wait();
    this.#state = 'killed';
    this.#pid = 0;
  }

  async start(): Promise<void> {
    await this.#container?.restart({ timeout: 0 });
    await this.#started();
  }

  async files(): Promise<Buffer> {
    const archive = await this.#container?.copyArchiveFromContainer('/etcd-data');
    if (archive === undefined) throw new Error(`etcd member ${this.#options.name} has no container`);
    return buffer(archive);
  }

  async replace(): Promise<void> {
    const { name, other } = this.#options;
    await this.remove();
    const id = (await other().#etcdctl('member', 'list')).split('\n').find((line) => line.split(', ')[2] === name);
    await other().#etcdctl('member', 'remove', id?.split(', ')[0] ?? '');
    await other().#etcdctl('member', 'add', name, `--peer-urls=${peerUrl(name)}`);
    await this.create('existing');
  }

  async remove(): Promise<void> {
    if (this.#container === undefined) return;
    if (this.#state === 'frozen') await this.thaw();
    await this.#container.stop({ timeout: 0 });
    this.#container = undefined;
    this.#state = 'killed';
    this.#pid = 0;
  }

  /** For clusters without certificates. */
  async #etcdctl(...args: readonly string[]): Promise<string> {
    // On a busy machine, a member that was cut off may need more than etcdctl's 5 s to rejoin the majority.
    const command = ['/usr/local/bin/etcdctl', '--command-timeout=60s', ...args];
    const result = await this.#container?.exec(command);
    if (result?.exitCode !== 0) throw new Error(`etcdctl ${args.join(' ')}: ${result?.output ?? 'no container'}`);
    return result.stdout;
  }

  async #started(): Promise<void> {
    this.#state = 'running';
    this.#pid = (await this.#handle().inspect()).State.Pid;
  }

  #handle() {
    if (this.#container === undefined) throw new Error(`etcd member ${this.#options.name} has no container`);
    return this.#options.runtime.container.getById(this.#container.getId());
  }

  #args(state: 'new' | 'existing'): readonly string[] {
    const { name, names, network, options, tls } = this.#options;
    const scheme = tls === undefined ? 'http' : 'https';
    const security =
      tls === undefined
        ? []
        : [
            ...['--trusted-ca-file', `${CERTIFICATES}/ca.crt`, '--client-cert-auth'],
            ...['--cert-file', `${CERTIFICATES}/tls.crt`, '--key-file', `${CERTIFICATES}/tls.key`],
          ];
    return [
      ...['--name', name, '--data-dir', '/etcd-data', '--log-level', 'info'],
      ...['--listen-client-urls', `${scheme}://0.0.0.0:${CLIENT_PORT}`],
      ...['--advertise-client-urls', `${scheme}://${name}:${CLIENT_PORT}`],
      ...['--listen-peer-urls', `http://0.0.0.0:${PEER_PORT}`, '--initial-advertise-peer-urls', peerUrl(name)],
      ...['--initial-cluster', names.map((one) => `${one}=${peerUrl(one)}`).join(',')],
      ...['--initial-cluster-token', network.getName(), '--initial-cluster-state', state],
      ...['--max-txn-ops=512', '--max-request-bytes=8388608', '--grpc-keepalive-min-time=1s', '--unsafe-no-fsync'],
      // A member may be replaced right after another was cut off.
      '--strict-reconfig-check=false',
      ...security,
      ...(options.args ?? []),
    ];
  }
}

function peerUrl(name: string): string {
  return `http://${name}:${PEER_PORT}`;
}
