import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A kubectl of the machine. */
export interface KubectlVersion {
  readonly name: string;
  readonly minor: number;
  readonly program: string;
}

/** The oldest and the newest kubectl that are here. */
export function kubectlVersions(root: string): readonly KubectlVersion[] {
  const found = allKubectls(root);
  const [oldest, newest] = [found[0], found.at(-1)];
  if (oldest === undefined || newest === undefined) throw new Error('no kubectl: run deploy/bin/ensure-tools');
  return oldest.minor === newest.minor ? [newest] : [oldest, newest];
}

/** The kubectl of a minor version; fails, naming it, where there is none. */
export function kubectlOf(root: string, minor: number): KubectlVersion {
  const found = allKubectls(root);
  const one = found.find((kubectl) => kubectl.minor === minor);
  if (one !== undefined) return one;
  const names = found.map(({ name }) => name).join(', ');
  throw new Error(`kubectl 1.${minor} is missing (there are ${names}): run deploy/bin/ensure-kubectls`);
}

/** Every kubectl that is here, oldest first: side by side ones beside the PATH's, and those in the cache. */
function allKubectls(root: string): readonly KubectlVersion[] {
  const onPath = (process.env['PATH'] ?? '').split(':').map((folder) => join(folder, 'kubectl'));
  const folders = new Set(onPath.filter((file) => existsSync(file)).map((file) => dirname(realpathSync(file))));
  const programs = [...folders].flatMap(kubectlsIn);
  return [...programs, ...kubectlsIn(join(root, '.gantry/tools'))]
    .map((program) => {
      const text = execFileSync(program, ['version', '--client', '-o', 'json'], { encoding: 'utf8' });
      const version = (JSON.parse(text) as { clientVersion: { gitVersion: string } }).clientVersion.gitVersion;
      return { name: version, minor: Number(version.split('.')[1]), program };
    })
    .filter(({ name }) => !name.includes('dispatcher'))
    .toSorted((one, other) => one.minor - other.minor);
}

function kubectlsIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => /^kubectl(\.1\.\d+)?$/.test(name));
  return names.map((name) => join(folder, name));
}
