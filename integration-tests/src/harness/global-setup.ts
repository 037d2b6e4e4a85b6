/**
 * Starts one cluster of its own through the project's scripts and removes it in the end: the run fails if the host's packet filters,
 * routes, interfaces, networks and containers are not what they were before. Where others use the engine at that time, only what names this
 * cluster, its interfaces or its addresses is compared: nothing of that may be left. GANTRY_TEST_KEEP=1 leaves it
 * running for the next run, which then starts at once. GANTRY_TEST_NAME names its folder for a run beside another one of the same
 * checkout. GANTRY_TEST_HOME is the folder of a cluster, or of anything with a
 * kubeconfig, that is tested as it is: nothing is started or removed.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';
import { eventually } from './eventually.ts';
import {
  type ClusterTraces,
  compareHostStates,
  hasOthers,
  type HostState,
  linesOfCluster,
  readHostState,
  tracesOf,
} from './host-state.ts';
import { serviceImages } from './lab-images.ts';
import { sweepContainers } from './sweep-containers.ts';
import { markTestRun, TEST_RUN_FILE, unmarkTestRun } from './test-run.ts';

const SETTLED_MS = 120_000;

declare module 'vitest' {
  export interface ProvidedContext {
    readonly home: string;
    readonly root: string;
  }
}

function script(root: string, home: string, name: string): Promise<void> {
  return new Promise((done, reject) => {
    const child = spawn(join(root, 'deploy/bin', name), [], {
      cwd: root,
      env: { ...process.env, GANTRY_HOME: home },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? done() : reject(new Error(`deploy/bin/${name} ended with ${code}`))));
  });
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const root = resolve(project.config.root);
  // The first project that needs the cluster starts it for all.
  const shared = project.vitest.getRootProject();
  if (shared.getProvidedContext().home !== undefined) return async () => undefined;
  const given = process.env['GANTRY_TEST_HOME'];
  const home = given ?? join(root, '.gantry', process.env['GANTRY_TEST_NAME'] ?? 'integration');
  shared.provide('home', home);
  shared.provide('root', root);
  if (given !== undefined) return async () => undefined;
  const keep = process.env['GANTRY_TEST_KEEP'] === '1';
  const run = join(home, TEST_RUN_FILE);
  if (!keep) await script(root, home, 'down');
  const before = keep ? undefined : await readHostState(async () => (await serviceImages(root))[0] ?? '');
  if (keep) unmarkTestRun(run);
  else markTestRun(run);
  await script(root, home, 'up');
  // `down` removes the settings.
  const traces = keep ? undefined : tracesOf(readFileSync(join(home, 'env'), 'utf8'));
  return async () => {
    if (keep) return;
    await script(root, home, 'down');
    unmarkTestRun(run);
    await sweepContainers();
    if (before === undefined || traces === undefined)
      process.stdout.write('what `down` leaves is compared on Linux, for root\n');
    else await requireSame(before, traces);
  };
}

/** Fails the run unless the host is as it was before `up`. The engine and the kernel may still be removing what they no longer need. */
async function requireSame(before: HostState, traces: ClusterTraces): Promise<void> {
  try {
    await eventually('the host is as it was before `up`', SETTLED_MS, async () => {
      const after = (await readHostState(() => Promise.resolve(traces.image))) ?? [];
      const isShared = [before, after].some((state) => hasOthers(state, traces));
      const compared = (state: HostState) => (isShared ? linesOfCluster(state, traces) : state);
      const { added, lost: missing } = compareHostStates(compared(before), compared(after));
      // Routing rules name addresses alone: those that an earlier cluster of the same addresses has left go with this one.
      const ofEarlier = new Set(linesOfCluster(missing, traces).filter((line) => line.startsWith('rule: ')));
      const lost = missing.filter((line) => !ofEarlier.has(line));
      if (added.length === 0 && lost.length === 0) return true;
      throw new Error([...added.map((line) => `+ ${line}`), ...lost.map((line) => `- ${line}`)].join('\n'));
    });
  } catch (error) {
    // Vitest reports what a teardown throws, and ends with success all the same.
    process.exitCode = 1;
    throw error;
  }
}
