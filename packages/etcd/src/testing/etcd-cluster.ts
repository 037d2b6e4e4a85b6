import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pause, systemClock } from '@gantry/base';

/** One member of a throw-away cluster. */
export interface ClusterMember {
  readonly endpoint: string;
  /** 0 while it is not running. */
  readonly pid: number;
  /** SIGSTOP: it holds its connections and says nothing. */
  freeze(): void;
  thaw(): void;
  /** SIGKILL. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** A real etcd on free ports of 127.0.0.1, its data in a temporary folder. */
export interface EtcdCluster extends AsyncDisposable {
  readonly members: readonly ClusterMember[];
  readonly endpoints: readonly string[];
}

export interface EtcdClusterOptions {
  readonly size?: number;
  /** Arguments added to each member's. */
  readonly args?: readonly string[];
  /** Certificates for the client port: the server's files, and a client's that may ask for health. */
  readonly tls?: {
    readonly caFile: string;
    readonly certFile: string;
    readonly keyFile: string;
    readonly client: ClientCertificate;
  };
}

interface ClientCertificate {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

const START_TIMEOUT_MS = 20_000;

/** Starts a cluster as production runs it and waits until every member is healthy. */
export async function startEtcdCluster(options: EtcdClusterOptions = {}): Promise<EtcdCluster> {
  const size = options.size ?? 3;
  const folder = await mkdtemp(join(tmpdir(), 'gantry-etcd-'));
  const ports = await freePorts(size * 2);
  const { tls } = options;
  const url = (port: number | undefined) => `http://127.0.0.1:${port ?? 0}`;
  const security =
    tls === undefined
      ? []
      : ['--cert-file', tls.certFile, '--key-file', tls.keyFile, '--trusted-ca-file', tls.caFile, '--client-cert-auth'];
  const peers = Array.from({ length: size }, (_, i) => `m${i}=${url(ports[i * 2 + 1])}`).join(',');
  const members = Array.from({ length: size }, (_, i) => {
    const client = url(ports[i * 2]).replace('http:', tls === undefined ? 'http:' : 'https:');
    const peer = url(ports[i * 2 + 1]);
    const name = `m${i}`;
    return new LocalMember(client, tls?.client, [
      ...['--name', name, '--data-dir', join(folder, name)],
      ...['--listen-client-urls', client, '--advertise-client-urls', client],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
      ...['--initial-cluster', peers, '--initial-cluster-token', folder, '--initial-cluster-state', 'new'],
      ...['--max-txn-ops=512', '--max-request-bytes=8388608', '--grpc-keepalive-min-time=1s', '--unsafe-no-fsync'],
      ...['--log-level', 'error', ...security, ...(options.args ?? [])],
    ]);
  });
  const stop = async () => {
    await Promise.all(members.map((member) => member.kill()));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await Promise.all(members.map((member) => member.start()));
  } catch (error) {
    await stop();
    throw error;
  }
  return { members, endpoints: members.map((member) => member.endpoint), [Symbol.asyncDispose]: stop };
}

class LocalMember implements ClusterMember {
  readonly endpoint: string;
  readonly #args: readonly string[];
  readonly #client: ClientCertificate | undefined;
  #process: ChildProcess | undefined;

  constructor(endpoint: string, client: ClientCertificate | undefined, args: readonly string[]) {
    this.endpoint = endpoint;
    this.#client = client;
    this.#args = args;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  async start(): Promise<void> {
    const child = spawn(findEtcd(), this.#args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let complaints = '';
    child.stderr.on('data', (chunk: Buffer) => {
      complaints = (complaints + chunk.toString()).slice(-4000);
    });
    this.#process = child;
    const signal = AbortSignal.timeout(START_TIMEOUT_MS);
    while (!(await this.#healthy())) {
      if (child.exitCode !== null || signal.aborted) throw new Error(`etcd did not start: ${complaints}`);
      await pause(systemClock, 50, signal); // The timeout is told by the loop, with what etcd said.
    }
  }

  #healthy(): Promise<boolean> {
    return new Promise((resolve) => {
      const ask = this.endpoint.startsWith('https:') ? httpsGet : httpGet;
      ask(`${this.endpoint}/health`, { ...this.#client, timeout: 1000 }, (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      })
        .on('timeout', () => resolve(false))
        .on('error', () => resolve(false)); // Not listening yet.
    });
  }
}

/** GANTRY_ETCD_BIN, then the checkout's own tools, then PATH. */
function findEtcd(): string {
  const named = process.env['GANTRY_ETCD_BIN'];
  if (named !== undefined && named !== '') return named;
  const folders = [
    join(import.meta.dirname, '../../../../.gantry/tools'),
    ...(process.env['PATH'] ?? '').split(delimiter),
  ];
  const found = folders.map((folder) => join(folder, 'etcd')).find((file) => existsSync(file));
  if (found === undefined) throw new Error('etcd was not found: run deploy/bin/ensure-tools, or set GANTRY_ETCD_BIN');
  return found;
}

/** Ports that were free a moment ago, all different. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  const ports = await Promise.all(
    servers.map(async (server) => {
      await once(server, 'listening');
      return (server.address() as AddressInfo).port;
    }),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
