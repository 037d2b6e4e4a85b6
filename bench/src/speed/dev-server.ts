import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { readKubeconfig } from '@gantry/client';
import { startEtcdCluster } from '@gantry/etcd/testing';
import { partOf } from '../parts.ts';
import { endProcess } from '../processes.ts';
import type { MeasuredServer } from './server.ts';

const MAIN = 'services/apiserver/src/testing/dev-server.ts';
/** On a machine that does much else. */
const READY_MS = 300_000;

export interface DevServer extends AsyncDisposable {
  readonly server: MeasuredServer;
  /** The administrator's kubeconfig file. */
  readonly kubeconfig: string;
}

export interface DevServerOptions {
  /** Folder for a CPU profile, written at the end. */
  readonly profileDir: string | undefined;
  /** Number of members of its own etcd; 0 for the memory store in the API server's process. */
  readonly etcdMembers: number;
}

/** Starts an API server in its own process. Where it does not become ready in time, nothing of it is left. */
export async function startDevServer(
  { profileDir, etcdMembers }: DevServerOptions,
  { main = MAIN, readyMs = READY_MS } = {},
): Promise<DevServer> {
  await using started = new AsyncDisposableStack();
  const etcd = etcdMembers === 0 ? undefined : started.use(await startEtcdCluster({ size: etcdMembers }));
  const folder = started.use(await mkdtempDisposable(join(tmpdir(), 'gantry-bench-'))).path;
  const kubeconfig = join(folder, 'kubeconfig');
  const profile = profileDir === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profileDir];
  const limits = ['--max-semi-space-size=16', '--max-old-space-size=1536', '--v8-pool-size=2'];
  const args = [...limits, ...profile, '--conditions=gantry-source', main, '0', kubeconfig];
  if (etcd !== undefined) args.push(etcd.endpoints.join(','));
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  started.defer(() => endProcess(child));
  const grpcPort = await readyWith(child, readyMs);
  const running = started.move();
  return {
    kubeconfig,
    server: {
      what: `one apiserver over ${etcd === undefined ? 'the memory store, in one process' : `etcd of ${etcdMembers} members`}`,
      target: readKubeconfig(kubeconfig),
      grpcPort,
      grpcAddresses: ['127.0.0.1'],
      parts: {
        apiserver: partOf('apiserver', [child.pid ?? 0]),
        etcd: partOf('etcd', etcd?.members.map(({ pid }) => pid) ?? []),
      },
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** The gRPC port, once the server reports that it is ready. */
async function readyWith(child: ChildProcessByStdio<null, Readable, null>, readyMs: number): Promise<number> {
  const signal = AbortSignal.timeout(readyMs);
  for await (const line of createInterface({ input: child.stdout, signal })) {
    const found = /"grpcPort":(\d+)/.exec(line)?.[1];
    if (found === undefined) continue;
    child.stdout.resume();
    return Number(found);
  }
  throw new Error(
    signal.aborted ? `the server was not ready after ${readyMs} ms` : 'the server ended before it was ready',
  );
}
