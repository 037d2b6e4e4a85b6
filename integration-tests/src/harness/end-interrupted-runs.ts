/**
 * Removes the clusters of test runs that were killed, of whatever checkout: the engine starts their containers again whenever it starts
 * itself, and they would take half of the machine from the next run. Clusters of runs that live, that are kept, or that no test started
 * stay. `deploy/bin/ensure-integration` runs it.
 */
import { execFileSync } from 'node:child_process';
import { basename, dirname, join, resolve } from 'node:path';
import { isInterrupted, TEST_RUN_FILE, unmarkTestRun } from './test-run.ts';

const SETTINGS_LABEL = 'com.docker.compose.project.environment_file';
const root = resolve(import.meta.dirname, '../../..');

const listed = execFileSync('docker', ['ps', '--all', '--format', `{{.Label "${SETTINGS_LABEL}"}}`], {
  encoding: 'utf8',
});
const homes = new Set(
  listed
    .split('\n')
    .filter((path) => basename(path) === 'env')
    .map(dirname),
);
for (const home of homes) {
  const run = join(home, TEST_RUN_FILE);
  if (!isInterrupted(run)) continue;
  process.stdout.write(`removing the cluster of an interrupted test run: ${home}\n`);
  execFileSync(join(root, 'deploy/bin/down'), { env: { ...process.env, GANTRY_HOME: home }, stdio: 'inherit' });
  unmarkTestRun(run);
}
