/**
 * Starts one cluster of its own through the project's scripts and removes it in the end. GANTRY_TEST_KEEP=1 leaves it
 * running for the next run, which then starts at once.
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
  const home = join(root, '.gantry/integration');
  const keep = process.env['GANTRY_TEST_KEEP'] === '1';
  if (!keep) await script(root, home, 'down');
  await script(root, home, 'up');
  project.provide('home', home);
  project.provide('root', root);
  return async () => {
    if (!keep) await script(root, home, 'down');
  };
}
