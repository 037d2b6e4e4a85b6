import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { freePort } from '@gantry/base/testing';
import { CONFIG_MAPS, EVENTS, LEASES } from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeAccountKubeconfig } from '../harness/account-kubeconfig.ts';
import { Cluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { runProgram, startProgram } from '../harness/process.ts';

const cluster = new Cluster();
const SOON_MS = 120_000;
let project: string;
/** The package as `npm pack` makes it. */
let packed: string;
const GENERATED = 'backup-operator';
const GROUP = 'generated.example.com';

/** Compilers, simulations and installations of packages compute, and other files of tests do so at the same time. */
const COMPUTED_MS = 400_000;

async function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await runProgram(program, args, { cwd, timeoutMs: COMPUTED_MS });
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
  return stdout;
}

/** An empty project with the package as `npm pack` makes it. */
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'gantry-operator-'));
  const workspace = join(cluster.root, 'packages/operator');
  // npm runs no scripts of packages here, so that of packing is run by itself.
  await run('npm', ['run', '-s', 'bundle'], workspace);
  const [{ filename }] = JSON.parse(await run('npm', ['pack', '--json', '--pack-destination', project], workspace)) as [
    { readonly filename: string },
  ];
  packed = join(project, filename);
  await writeFile(join(project, 'package.json'), '{"private":true,"type":"module"}');
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${filename}`], project);
  await copyFile(join(cluster.root, 'integration-tests/src/clients/operator.ts'), join(project, 'main.ts'));
});
afterAll(() => rm(project, { recursive: true }));

/** The examples of the README as files of the project, without that of a test, which needs a test runner. */
async function examplesOfReadme(): Promise<readonly string[]> {
  const readme = await readFile(join(project, 'node_modules/@gantry/operator/README.md'), 'utf8');
  const blocks = [...readme.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = '']) => code);
  const files = blocks
    .filter((code) => !code.includes("'vitest'"))
    // Those that others import say their names.
    .map((code, i) => [/^\/\/ ([a-z]+\.ts)\n/.exec(code)?.[1] ?? `example-${i}.ts`, code] as const);
  expect(files.length).toBeGreaterThan(2);
  for (const [name, code] of files) await writeFile(join(project, name), code);
  return files.map(([name]) => name);
}

test('the package has the types of what it exports, and no workspace of ours', async () => {
  const strict = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--module', 'nodenext', '--target', 'es2024'];
  // Node.js runs the files as they are.
  const options = [...strict, '--allowImportingTsExtensions'];
  const examples = await examplesOfReadme();
  const compiler = join(cluster.root, 'node_modules/typescript/bin/tsc');
  // Types of the package itself are checked, those of its dependencies are theirs.
  const { stdout } = await runProgram(
    process.execPath,
    [compiler, ...options, '--types', 'node', 'main.ts', ...examples],
    {
      cwd: project,
    },
  );
  const checked = ['main', 'backups', 'node_modules/@gantry', ...examples];
  expect(stdout.split('\n').filter((line) => checked.some((start) => line.startsWith(start)))).toEqual([]);
  const { dependencies } = JSON.parse(
    await readFile(join(project, 'node_modules/@gantry/operator/package.json'), 'utf8'),
  ) as { readonly dependencies: object };
  expect(Object.keys(dependencies).sort()).toEqual([
    '@kubernetes/client-node',
    '@peculiar/x509',
    'pino',
    'prom-client',
    'reflect-metadata',
    'zod',
  ]);
});

test('the types of a definition are right', async () => {
  const definition = join(cluster.root, 'examples/etcd-operator/deploy/definition.json');
  const types = await run('npx', ['--no-install', 'gantry-operator', 'types', definition], project);
  const use = `const size = (cluster: EtcdCluster): number => cluster.spec?.size ?? ETCD_CLUSTERS.version.length;\n`;
  await writeFile(join(project, 'types.ts'), `${types}${use}void size;\n`);
  const compiler = join(cluster.root, 'node_modules/typescript/bin/tsc');
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2024'];
  await run(process.execPath, [compiler, ...options, '--types', 'node', 'types.ts'], project);
});

test('a simulation runs in an empty project', async () => {
  await writeFile(
    join(project, 'simulation.ts'),
    `import { CONFIG_MAPS, declare, SECRETS } from '@gantry/operator';
import { simulate } from '@gantry/operator/testing';
const desire = ({ object }: { object: { metadata: { name?: string } } }) => ({
  objects: [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: object.metadata.name ?? '' } }],
});
const operator = () => ({ name: 'o', controllers: [declare({ name: 'c', for: CONFIG_MAPS, owns: [SECRETS], desire })] });
const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one', namespace: 'default' } };
const report = await simulate({ operator, objects: [object], seeds: 3 });
process.stdout.write(JSON.stringify([report.histories, report.text]));
`,
  );
  expect(await run(process.execPath, ['simulation.ts'], project)).toBe('[3,""]');
});

test('an operator in an empty project works, reports and stops in order', async () => {
  await using namespace = await cluster.namespace();
  const port = await freePort();
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, NAMESPACE: namespace.name, PORT: String(port) };
  const child = spawn(process.execPath, ['main.ts'], { cwd: project, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  try {
    const key = { namespace: namespace.name, name: 'one' };
    const data = { value: 'first' };
    const metadata = { name: key.name, labels: { 'example.com/copy': 'yes' } };
    const source = await cluster.create(CONFIG_MAPS, key.namespace, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata,
      data,
    });
    const copy = () => cluster.get(CONFIG_MAPS, key.namespace, 'one-copy');
    const made = await eventually('the copy is there', SOON_MS, copy);
    expect(made).toMatchObject({
      data,
      metadata: { ownerReferences: [{ uid: source.metadata.uid, controller: true }] },
    });
    expect(made.metadata.managedFields?.map(({ manager, operation }) => [manager, operation])).toEqual([
      ['copier', 'Apply'],
    ]);

    const merge = { data: { value: 'second' } };
    await cluster.api.patch(CONFIG_MAPS, key, { merge }, AbortSignal.timeout(SOON_MS));
    await eventually('the copy follows', SOON_MS, async () => (await copy()).data?.['value'] === 'second');
    await cluster.api.delete(CONFIG_MAPS, { ...key, name: 'one-copy' }, {}, AbortSignal.timeout(SOON_MS));
    await eventually('the copy is made again', SOON_MS, async () => (await copy()).metadata.uid !== made.metadata.uid);

    await eventually('the Event is there', SOON_MS, async () =>
      (await cluster.list(EVENTS, key.namespace)).find(({ reason }) => reason === 'Copied'),
    );
    const answer = async (path: string) => await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
    expect(await answer('/readyz')).toBe('ok');
    expect(await answer('/metrics')).toMatch(
      /controller_runtime_reconcile_total\{controller="copier",result="success"\} [1-9]/,
    );
    await eventually('it has logged that', SOON_MS, () => {
      // The last line may not be whole yet.
      const lines = output.split('\n').slice(0, -1);
      expect(lines.map((line) => JSON.parse(line) as Record<string, unknown>)).toContainEqual(
        expect.objectContaining({ controller: 'copier', object: `${namespace.name}/one`, msg: 'copied' }),
      );
      return true;
    });
    const holder = async () => (await cluster.get(LEASES, key.namespace, 'copier')).spec?.holderIdentity;
    expect(await holder()).not.toBe('');
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(await holder()).toBe('');
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
});

let generated: Promise<string> | undefined;
/** A project as `npm create gantry-controller` makes it, with its dependencies. It is made once. */
const generatedProject = (): Promise<string> => (generated ??= generateProject());
const generateProject = async (): Promise<string> => {
  const create = join(cluster.root, 'packages/create-gantry-controller/bin/create-gantry-controller.js');
  const folder = join(project, GENERATED);
  await run(process.execPath, [create, GENERATED, '--group', GROUP, '--operator', packed], project);
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund'], folder);
  return folder;
};
const backup = (name: string, copies: number) => ({
  apiVersion: `${GROUP}/v1alpha1`,
  kind: 'Backup',
  metadata: { name },
  spec: { message: 'Hello', copies },
});

test('a generated project has right types, tests and simulates, and works with the rights that it derives', async () => {
  const name = GENERATED;
  const folder = await generatedProject();
  await run('npm', ['run', 'check'], folder);
  expect(await run('npm', ['test'], folder)).toMatch(/Tests .*2 passed/);

  const manifests = async (...kinds: readonly string[]) =>
    await run(process.execPath, ['src/manifests.ts', ...kinds], folder);
  const all = JSON.parse(await manifests()) as { readonly items: readonly { readonly kind: string }[] };
  const input = await manifests(...all.items.map(({ kind }) => kind).filter((kind) => kind !== 'Deployment'));
  await cluster.mustKubectl(['apply', '-f', '-'], { input });
  try {
    await cluster.mustKubectl(['apply', '--dry-run=server', '-f', '-'], { input: await manifests('Deployment') });
    const definition = 'crd/backups.generated.example.com';
    await cluster.mustKubectl(['wait', '--for=condition=Established', definition, '--timeout=120s']);
    const file = join(folder, 'kubeconfig');
    await writeAccountKubeconfig(cluster, { namespace: name, name }, file);
    const env = { KUBECONFIG: file, PORT: String(await freePort()) };
    await using program = startProgram(process.execPath, [join(folder, 'src/main.ts')], env);
    await using namespace = await cluster.namespace();
    const object = { ...backup('hello', 2), metadata: { name: 'hello', namespace: namespace.name } };
    await cluster.mustKubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
    const ready = ['wait', '--for=condition=Ready', 'backup/hello', '-n', namespace.name, '--timeout=120s'];
    await cluster.mustKubectl(ready);
    expect((await cluster.get(CONFIG_MAPS, namespace.name, 'hello-1')).data).toEqual({ message: 'Hello' });
    await cluster.mustKubectl([
      'patch',
      'backup/hello',
      '-n',
      namespace.name,
      '--type=merge',
      '-p',
      '{"spec":{"copies":1}}',
    ]);
    await eventually('the second copy is gone', SOON_MS, async () =>
      (await cluster.list(CONFIG_MAPS, namespace.name)).every(({ metadata }) => metadata.name !== 'hello-1'),
    );
    const lines = program.output().split('\n').slice(0, -1);
    const logged = lines.map((line) => JSON.parse(line) as { readonly level: string; readonly msg: string });
    // Another API server than that which has established the kind may serve it, or grant the rights, a moment later.
    const isEarly = ({ msg }: { readonly msg: string }) => msg === 'a resource cannot be followed, trying again';
    expect(logged.filter((line) => line.level !== 'info' && !isEarly(line))).toEqual([]);
  } finally {
    await cluster.kubectl(['delete', '-f', '-', '--ignore-not-found', '--wait=false'], { input });
  }
});

test('a generated project runs with live reload, also of its kind, and is deployed in pods', async () => {
  const folder = await generatedProject();
  await using namespace = await cluster.namespace();
  const inside = ['-n', namespace.name];
  await symlink(cluster.newest.program, join(project, 'kubectl'));
  const PATH = [project, process.env['PATH']].join(delimiter);
  const image = `${GENERATED}-${process.pid}:test`;
  const env = { ...process.env, PATH, KUBECONFIG: cluster.kubeconfig, IMAGE: image, PORT: String(await freePort()) };
  const dev = spawn('npm', ['run', 'dev'], { cwd: folder, env, stdio: 'ignore', detached: true });
  const ended = once(dev, 'close');
  const messageOf = (name: string) =>
    cluster.mustKubectl(['get', 'backup', name, ...inside, '-o', 'jsonpath={.status.conditions[0].message}']);
  try {
    const definition = ['get', 'crd', `backups.${GROUP}`, '-o', 'jsonpath={..properties.copies.maximum}'];
    await eventually('the kind is there', SOON_MS, () => cluster.mustKubectl(definition));
    const input = JSON.stringify(backup('first', 2));
    await eventually('it is served', SOON_MS, () => cluster.mustKubectl(['apply', ...inside, '-f', '-'], { input }));
    await eventually('it runs', SOON_MS, async () => (await messageOf('first')) === 'There are 2 copies');
    await change(join(folder, 'src/controller.ts'), 'There are', 'There should be');
    await change(join(folder, 'src/backup.ts'), '.max(10)', '.max(20)');
    await eventually('the kind has changed', SOON_MS, async () => (await cluster.mustKubectl(definition)) === '20');
    await eventually('it has changed', SOON_MS, async () => (await messageOf('first')) === 'There should be 2 copies');
    process.kill(-(dev.pid ?? 0), 'SIGTERM');
    await ended;

    // Its Dockerfile needs an image of Node.js and npm's registry. The cluster's services have the former, the project the latter.
    const dockerfile = [
      `FROM ${await cluster.serviceImage()}`,
      'WORKDIR /app',
      'COPY . .',
      'CMD ["node", "src/main.ts"]',
    ];
    await writeFile(join(folder, 'Dockerfile'), dockerfile.join('\n'));
    await rm(join(folder, '.dockerignore'));
    const { code, stderr, stdout } = await runProgram('npm', ['run', 'deploy'], {
      cwd: folder,
      env,
      timeoutMs: COMPUTED_MS,
    });
    expect(code, stderr + stdout).toBe(0);
    await cluster.mustKubectl(['apply', ...inside, '-f', '-'], { input: JSON.stringify(backup('second', 15)) });
    await eventually('it works', SOON_MS, async () => (await messageOf('second')) === 'There should be 15 copies');
  } finally {
    try {
      process.kill(-(dev.pid ?? 0), 'SIGKILL');
    } catch {
      // It has ended.
    }
    const { stdout } = await runProgram(process.execPath, ['src/manifests.ts'], { cwd: folder, env });
    await cluster.kubectl(['delete', '-f', '-', '--ignore-not-found', '--timeout=60s'], { input: stdout });
    await runProgram('docker', ['rmi', '-f', image]);
  }
});

async function change(file: string, from: string, to: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  expect(text).toContain(from);
  await writeFile(file, text.replace(from, to));
}

test('webhooks of an operator in pods convert, change and refuse objects', async () => {
  await using namespace = await cluster.namespace();
  const inside = ['-n', namespace.name];
  await copyFile(join(cluster.root, 'integration-tests/src/clients/webhooks.ts'), join(project, 'webhooks.ts'));
  const env = { NAMESPACE: namespace.name, IMAGE: await cluster.serviceImage(), FOLDER: project };
  const {
    stdout: input,
    stderr,
    code,
  } = await runProgram(process.execPath, ['webhooks.ts', 'manifests'], { cwd: project, env });
  expect(code, stderr).toBe(0);
  const copy = (version: string, name: string, spec: object) =>
    JSON.stringify({ apiVersion: `hooks.example.com/${version}`, kind: 'Copy', metadata: { name }, spec });
  const apply = (text: string) => cluster.kubectl(['apply', ...inside, '-f', '-'], { input: text });
  try {
    await cluster.mustKubectl(['apply', '-f', '-'], { input });
    await cluster.untilRolledOut(namespace.name, 'copies');
    // API servers trust the certificate as soon as they see it in the configurations.
    await eventually('an old version is written', SOON_MS, async () => {
      const { code: failed, stderr: why } = await apply(copy('v1', 'old', { every: '@daily', keep: 3 }));
      if (failed !== 0) throw new Error(why);
      return true;
    });
    const stored = JSON.parse(
      await cluster.mustKubectl(['get', 'copies.v2.hooks.example.com', 'old', ...inside, '-o', 'json']),
    ) as object;
    expect(stored).toMatchObject({
      apiVersion: 'hooks.example.com/v2',
      spec: { schedule: '@daily', keep: 3 },
      metadata: { annotations: { 'example.com/owner': expect.stringMatching(/./) } },
    });
    // Another API server may see the certificate later.
    await eventually('a smaller one is refused', SOON_MS, async () => {
      const { stderr: refusal } = await apply(copy('v1', 'old', { every: '@daily', keep: 2 }));
      expect(refusal).toContain(
        'admission webhook "keep.copies.example.com" denied the request: spec.keep: must not become less',
      );
      return true;
    });
    const logs = await cluster.mustKubectl(['logs', 'deploy/copies', ...inside]);
    expect(logs.split('\n').filter((line) => line.includes('"level":"error"'))).toEqual([]);
  } finally {
    await cluster.kubectl(['delete', '-f', '-', '--ignore-not-found', '--wait=false'], { input });
  }
});
