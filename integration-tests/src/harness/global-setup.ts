/**
 * Starts one cluster of its own through the project's scripts and removes it in the end. GANTRY_TEST_KEEP=1 leaves it
 * running for the next run, which then starts at once. GANTRY_TEST_HOME is the folder of a cluster, or of anything with a
 * kubeconfig, that is tested as it is: nothing is started or removed.
 */
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';

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
  const home = given ?? join(root, '.gantry/integration');
  shared.provide('home', home);
  shared.provide('root', root);
  if (given !== undefined) return async () => undefined;
  const keep = process.env['GANTRY_TEST_KEEP'] === '1';
  if (!keep) await script(root, home, 'down');
  await script(root, home, 'up');
  return async () => {
    if (!keep) await script(root, home, 'down');
  };
}
