import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { readKubeconfig } from '@gantry/client';
import { startEtcdCluster } from '@gantry/etcd/testing';
import { endProcess } from '../processes.ts';
import type { MeasuredServer } from './server.ts';

const MAIN = 'services/apiserver/src/testing/dev-server.ts';

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

/** Starts an API server in its own process. */
export async function startDevServer({ profileDir, etcdMembers }: DevServerOptions): Promise<DevServer> {
  const etcd = etcdMembers === 0 ? undefined : await startEtcdCluster({ size: etcdMembers });
  const folder = await mkdtemp(join(tmpdir(), 'gantry-bench-'));
  const kubeconfig = join(folder, 'kubeconfig');
  const profile = profileDir === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profileDir];
  const limits = ['--max-semi-space-size=16', '--max-old-space-size=1536', '--v8-pool-size=2'];
  const args = [...limits, ...profile, '--conditions=gantry-source', MAIN, '0', kubeconfig];
  if (etcd !== undefined) args.push(etcd.endpoints.join(','));
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const grpcPort = await readyWith(child);
  return {
    kubeconfig,
    server: {
      what: `one apiserver over ${etcd === undefined ? 'the memory store, in one process' : `etcd of ${etcdMembers} members`}`,
      target: readKubeconfig(kubeconfig),
      grpcPort,
      grpcAddresses: ['127.0.0.1'],
      pids: { apiserver: [child.pid ?? 0], etcd: etcd?.members.map(({ pid }) => pid) ?? [] },
    },
    [Symbol.asyncDispose]: async () => {
      await endProcess(child);
      await etcd?.[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The gRPC port, once the server reports that it is ready. */
async function readyWith(child: ChildProcess): Promise<number> {
  if (child.stdout === null) throw new Error('the server has no output');
  for await (const line of createInterface(child.stdout)) {
    const found = /"grpcPort":(\d+)/.exec(line)?.[1];
    if (found === undefined) continue;
    child.stdout.resume();
    return Number(found);
  }
  throw new Error('the server ended before it was ready');
}
