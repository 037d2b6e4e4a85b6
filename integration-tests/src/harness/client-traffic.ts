import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from './cluster.ts';

/** What the requests of client-go met (integration-tests/clients/go/traffic.go). */
export interface TrafficReport {
  readonly requests: number;
  /** Errors that client-go returned, after its own retries. */
  readonly failures: readonly string[];
  readonly longestMs: number;
  /** Objects whose creation or deletion no watch has reported. */
  readonly missed: readonly string[];
}

/** Requests of client-go that go on. Dispose of it to end them at once. */
export interface ClientTraffic extends AsyncDisposable {
  /** Ends the requests, waits for the last events, and returns what they met. */
  end(): Promise<TrafficReport>;
}

/** Lets client-go create, get, list, change, delete and watch ConfigMaps of a namespace, about 60 requests a second. */
export async function startClientTraffic(cluster: Cluster, namespace: string): Promise<ClientTraffic> {
  const program = join(cluster.root, '.gantry/clients/go');
  if (!existsSync(program)) throw new Error(`${program} is missing: run deploy/bin/ensure-clients`);
  const child = spawn(program, [cluster.kubeconfig, namespace, 'traffic'], { stdio: ['pipe', 'pipe', 'inherit'] });
  let output = '';
  const started = Promise.withResolvers<void>();
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.once('error', started.reject);
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
    if (output.includes('\n')) started.resolve();
  });
  void ended.then(() => started.reject(new Error('client-go ended before its first request')));
  await started.promise;
  return {
    end: async () => {
      child.stdin.end();
      await ended;
      return JSON.parse(output.trim().split('\n').at(-1) ?? '') as TrafficReport;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
