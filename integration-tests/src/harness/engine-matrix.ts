/**
 * `npm run engine-matrix`: a second Docker engine beside this machine's, in a network namespace, and on it what of the tests depends on an
 * engine: the contract suites of the agent's runtime (`parts`), the core of the tests of a cluster (`cluster`), and a restart of the
 * engine under a cluster (`restart`). The first argument chooses one of them, further ones its files. GANTRY_ENGINE_PATH has the folders of
 * the engine's programs.
 */
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { restartUnderCluster } from './engine-restart.ts';
import { HostLab } from './host-lab.ts';
import { kubectlVersions } from './kubectl-versions.ts';
import { listedImages, serviceImages } from './lab-images.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
/** Not that of the hosts' tests. */
const NUMBER = 8;
/** testcontainers looks for the engine's own network. */
const BRIDGE = '10.231.200.1/24';
const HOME = join(ROOT, '.gantry/engine-matrix');
const PARTS = ['docker', 'mounts', 'eviction', 'volumes'].map((folder) => `services/agent/src/${folder}`);
/** What a user does with pods: start, roll out, repair, volumes, resources, lives of containers, streams, attacks. */
const CORE = [
  '02-rollout',
  '03-repair',
  '04-agents',
  '07-restart',
  '19-volume-attacks',
  '22-foreign-containers',
  '22-refused-pods',
  '23-volumes',
  '24-hooks-and-probes',
  '24-host',
  '24-images',
  '24-lifecycle',
  '24-pod-resources',
  '24-resize',
  '24-resources',
  '24-restart-all',
  '24-static-pods',
  '24-streams',
  '24-volume-files',
];

/** Runs one of the project's scripts on the lab's machine; false when it failed. */
type Run = (script: string, args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<boolean>;

/** What `npm run engine-matrix` runs: on the lab's machine, the files with these names, or all that belong to it. */
type Suite = (run: Run, files: readonly string[]) => Promise<boolean>;

const SUITES: Readonly<Record<string, Suite>> = {
  parts: (run, files) => run('integration', ['--project', 'parts', ...(files.length > 0 ? files : PARTS)]),
  cluster: (run, files) =>
    withCluster(run, (env) => run('integration', ['--project', 'cluster*', ...(files.length > 0 ? files : CORE)], env)),
  restart: (run) =>
    withCluster(run, async () => {
      await restartUnderCluster(lab, HOME, kubectlVersions(ROOT).at(-1)?.program ?? 'kubectl');
      return true;
    }),
};

/** Starts a cluster on the lab's engine, and removes it afterwards. */
async function withCluster(run: Run, use: (env: Readonly<Record<string, string>>) => Promise<boolean>) {
  const env = { GANTRY_HOME: HOME, GANTRY_TEST_HOME: HOME };
  await lab.load(await serviceImages(ROOT));
  try {
    return (await run('up', [], env)) && (await use(env));
  } finally {
    await run('down', [], env);
    await rm(HOME, { recursive: true, force: true });
  }
}

const [name, ...files] = process.argv.slice(2);
if (name !== undefined && !(name in SUITES)) {
  process.stderr.write(`no such suite: ${name}; there are ${Object.keys(SUITES).join(', ')}\n`);
  process.exit(2);
}
const path = process.env['GANTRY_ENGINE_PATH'];
if (path === undefined) throw new Error('GANTRY_ENGINE_PATH is not set: use `npm run engine-matrix`');
await using lab = await HostLab.create(NUMBER, { path: `${path}:${process.env['PATH']}`, bridge: BRIDGE });
const version = await lab.must('docker', ['version', '-f', '{{.Server.Version}}, API {{.Server.APIVersion}}']);
process.stdout.write(`the engine under test: ${version}\n`);
await lab.load(await listedImages(ROOT));
const run: Run = async (script, args, env = {}) =>
  (await lab.runInside(join(ROOT, 'deploy/bin', script), args, env)) === 0;
for (const [suite, runSuite] of Object.entries(SUITES)) {
  if (name !== undefined && name !== suite) continue;
  const passed = await runSuite(run, files);
  process.stdout.write(`${suite} ${passed ? 'passed' : 'FAILED'} on engine ${version}\n`);
  if (!passed) process.exitCode = 1;
}
