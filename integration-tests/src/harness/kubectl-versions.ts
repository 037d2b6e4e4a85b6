import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A kubectl of the machine. */
export interface KubectlVersion {
  readonly name: string;
  readonly minor: number;
  readonly program: string;
}

/** The oldest and the newest kubectl that are here: side by side ones beside the PATH's, and the one in the cache. */
export function kubectlVersions(root: string): readonly KubectlVersion[] {
  const onPath = (process.env['PATH'] ?? '').split(':').map((folder) => join(folder, 'kubectl'));
  const folders = new Set(onPath.filter((file) => existsSync(file)).map((file) => dirname(realpathSync(file))));
  const programs = [...folders].flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => /^kubectl(\.1\.\d+)?$/.test(name))
      .map((name) => join(folder, name)),
  );
  const found = [...programs, join(root, '.gantry/tools/kubectl')]
    .filter((program) => existsSync(program))
    .map((program) => {
      const text = execFileSync(program, ['version', '--client', '-o', 'json'], { encoding: 'utf8' });
      const version = (JSON.parse(text) as { clientVersion: { gitVersion: string } }).clientVersion.gitVersion;
      return { name: version, minor: Number(version.split('.')[1]), program };
    })
    .filter(({ name }) => !name.includes('dispatcher'))
    .toSorted((one, other) => one.minor - other.minor);
  const [oldest, newest] = [found[0], found.at(-1)];
  if (oldest === undefined || newest === undefined) throw new Error('no kubectl: run deploy/bin/ensure-tools');
  return oldest.minor === newest.minor ? [newest] : [oldest, newest];
}
