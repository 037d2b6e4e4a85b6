/**
 * Bundles every service into the folder that the image copies: `app/lib/<service>.mjs`, the front end of the console in `app/web`, and Node.js
 * in `bin/`. Prints hashes as JSON; the same hash means the same image.
 *
 *   node deploy/tools/bundle.ts FOLDER
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const target = resolve(process.argv[2] ?? join(root, '.gantry/bundle'));

const ENTRIES: Readonly<Record<string, string>> = {
  apiserver: 'services/apiserver/src/main.ts',
  scheduler: 'services/scheduler/src/main.ts',
  'controller-manager': 'services/controller-manager/src/main.ts',
  agent: 'services/agent/src/main.ts',
  dns: 'services/dns/src/main.ts',
  proxy: 'services/proxy/src/main.ts',
  ingress: 'services/ingress/src/main.ts',
  console: 'services/console/src/main.ts',
  pki: 'deploy/src/pki/main.ts',
};

/** CommonJS packages in an ES module need these three names. */
const BANNER = `import { createRequire as gantryCreateRequire } from 'node:module';
import { fileURLToPath as gantryFileURLToPath } from 'node:url';
const require = gantryCreateRequire(import.meta.url);
const __filename = gantryFileURLToPath(import.meta.url);
const __dirname = gantryFileURLToPath(new URL('.', import.meta.url)).slice(0, -1);`;

rmSync(join(target, 'app'), { recursive: true, force: true });
mkdirSync(join(target, 'bin'), { recursive: true });

await build({
  absWorkingDir: root,
  entryPoints: Object.entries(ENTRIES)
    .filter(([, path]) => existsSync(join(root, path)))
    .map(([out, path]) => ({ in: path, out })),
  outdir: join(target, 'app/lib'),
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  target: 'node24',
  // Keep `using`, which Node.js 24 has: esbuild's translation keeps an error of one loop iteration in the later ones.
  supported: { using: true },
  format: 'esm',
  banner: { js: BANNER },
  conditions: ['gantry-source'],
  // Docker is reached by its socket, so docker-modem's SSH transport is left out.
  alias: { ssh2: join(root, 'deploy/tools/absent-ssh2.cjs'), bufferutil: join(root, 'deploy/tools/wide-mask.ts') },
  loader: { '.node': 'empty' },
  legalComments: 'none',
  // Each process keeps its source in memory, so it is minified. Names and short lines keep stack traces useful.
  minifyWhitespace: true,
  lineLimit: 120,
  logLevel: 'error',
});

// The field descriptions for kubectl explain, from a package that is not in the image.
execFileSync(process.execPath, [
  '--conditions=gantry-source',
  join(root, 'services/apiserver/src/endpoints/openapi/write-descriptions.ts'),
  join(target, 'app/lib/descriptions.json'),
]);
// The front end of the console, which Vite builds; the service says so where there is none.
if (existsSync(join(root, 'services/console/web/index.html'))) {
  const build = ['run', '-s', '-w', '@gantry/console', 'build:web', '--', '--outDir', join(target, 'app/web')];
  execFileSync('npm', [...build, '--emptyOutDir', '--logLevel', 'error'], {
    cwd: root,
    // Tests, too, see what is shipped: their NODE_ENV=test would choose React's development build.
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
for (const script of ['healthcheck', 'pod-egress']) {
  copyFileSync(join(root, 'deploy/images', script), join(target, 'bin', script));
  chmodSync(join(target, 'bin', script), 0o755);
}

const runtime = join(root, 'node_modules', `node-linux-${process.arch}`);
const runtimeVersion = JSON.parse(readFileSync(join(runtime, 'package.json'), 'utf8')).version as string;
const bundledNode = join(target, 'bin/node');
const stamp = join(target, '.node-version');
if (!existsSync(bundledNode) || !existsSync(stamp) || readFileSync(stamp, 'utf8') !== runtimeVersion) {
  copyFileSync(join(runtime, 'bin/node'), bundledNode);
  writeFileSync(stamp, runtimeVersion);
}

const files = readdirSync(target, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name))
  .filter((path) => path !== bundledNode)
  .toSorted();
const dockerfile = join(root, 'deploy/images/gantry.Dockerfile');
// A separate hash for the certificate job: when it changes, Compose recreates all that depends on it, including etcd.
const hashes = {
  services: hashOf([...files, dockerfile]),
  pki: hashOf([...files.filter((path) => path.endsWith('/pki.mjs') || path === stamp), dockerfile]),
};
process.stdout.write(`${JSON.stringify(hashes)}\n`);

function hashOf(paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of paths) hash.update(relative(root, path)).update('\0').update(readFileSync(path));
  return hash.digest('hex').slice(0, 12);
}
