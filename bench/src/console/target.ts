import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { must } from '@gantry/base';
import { readKubeconfig } from '@gantry/client';
import { type Part, partNamed, partOf, servicesOf } from '../parts.ts';
import { endProcess } from '../processes.ts';
import { startDevServer } from '../speed/dev-server.ts';

const MAIN = 'services/console/src/testing/dev-console.ts';
/** As the console's service of docker-compose.yml has it. */
const HEAP = ['--max-semi-space-size=2', '--max-old-space-size=256', '--v8-pool-size=1'];

/** A console and the API servers behind it. */
export interface MeasuredConsole extends AsyncDisposable {
  readonly what: string;
  readonly origin: string;
  /** The administrator's kubeconfig file. */
  readonly kubeconfig: string;
  readonly parts: { readonly console: Part; readonly apiserver: Part };
}

/** The console of the running cluster of a kubeconfig's folder. */
export function clusterConsole(kubeconfig: string): MeasuredConsole {
  const settings = readFileSync(join(dirname(kubeconfig), 'env'), 'utf8');
  const setting = (name: string) => must(new RegExp(`^${name}=(.*)$`, 'm').exec(settings)?.[1], `${name} in env`);
  const project = setting('GANTRY_CLUSTER_ID');
  const parts = servicesOf(project);
  return {
    what: `the cluster ${project}`,
    origin: `http://127.0.0.1:${setting('GANTRY_CONSOLE_PORT')}`,
    kubeconfig,
    parts: { console: partNamed(parts, 'console'), apiserver: partNamed(parts, 'apiserver') },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** An API server and a console in processes of their own. */
export async function devConsole(etcdMembers: number): Promise<MeasuredConsole> {
  await using parts = new AsyncDisposableStack();
  const dev = parts.use(await startDevServer({ profileDir: undefined, etcdMembers }));
  const folder = await mkdtemp(join(tmpdir(), 'gantry-console-'));
  parts.defer(() => rm(folder, { recursive: true, force: true }));
  const webDir = join(folder, 'web');
  const build = ['run', '-s', '-w', '@gantry/console', 'build:web', '--', '--logLevel', 'error', '--outDir', webDir];
  execFileSync('npm', build, { stdio: ['ignore', 'ignore', 'inherit'] });
  const { server, ca } = readKubeconfig(dev.kubeconfig);
  const caFile = join(folder, 'ca.crt');
  await writeFile(caFile, must(ca, 'a certificate authority in the kubeconfig'));
  const child = spawn(process.execPath, [...HEAP, '--conditions=gantry-source', MAIN, server, caFile, webDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  parts.defer(() => endProcess(child));
  const origin = await originOf(child);
  const started = parts.move();
  return {
    what: `one console from its sources, which takes 100 MiB more than the built one, and ${dev.server.what}`,
    origin,
    kubeconfig: dev.kubeconfig,
    parts: { console: partOf('console', [child.pid ?? 0]), apiserver: dev.server.parts.apiserver },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** Its address, once it listens. */
async function originOf(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the console has no output');
  for await (const line of createInterface(child.stdout)) if (line.startsWith('http://')) return line;
  throw new Error('the console ended before it was ready');
}
