import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Runs `ensure_from_apt tool tool-package why` beside an apt-get that notes its arguments and, unless it fails, installs `tool`. */
function ensure(environment: Readonly<Record<string, string>> = {}, apt: 'installs' | 'fails' = 'installs') {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-apt-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const install = apt === 'fails' ? 'exit 100' : 'printf "#!/bin/sh\\n" >"$FOLDER/tool" && chmod +x "$FOLDER/tool"';
  const program = `#!/bin/sh\necho "$@" >>"$FOLDER/calls"\ncase "$*" in *install*) ${install} ;; esac\n`;
  writeFileSync(join(folder, 'apt-get'), program, { mode: 0o755 });
  const run = (): string => {
    const script = `set -eu
      . deploy/lib/say.sh; . deploy/lib/debian.sh
      is_debian() { :; }; is_root() { :; }
      ensure_from_apt tool tool-package "a test needs it" 2>&1 || true`;
    const env = {
      PATH: `${folder}:/usr/bin:/bin`,
      FOLDER: folder,
      GANTRY_CACHE: join(folder, 'cache'),
      ...environment,
    };
    try {
      return execFileSync('sh', ['-c', script, join(ROOT, 'deploy/bin/test')], { cwd: ROOT, env, encoding: 'utf8' });
    } catch (error) {
      return String((error as { stdout: string }).stdout);
    }
  };
  const calls = () => (existsSync(join(folder, 'calls')) ? readFileSync(join(folder, 'calls'), 'utf8') : '');
  return { run, calls };
}

test('a missing program is installed from its package, once', () => {
  const { run, calls } = ensure();
  expect(run()).toContain("installing tool-package (Debian's): a test needs it");
  expect(calls()).toBe('-qq update\n-qq -y install --no-install-recommends tool-package\n');
  expect(run()).toBe('');
  expect(calls().match(/install /g)).toHaveLength(1);
});

test('nothing is installed where that is forbidden, and a failure names its log', () => {
  const forbidden = ensure({ GANTRY_INSTALL: 'no' });
  expect(forbidden.run()).toContain('GANTRY_INSTALL=no forbids to install it');
  expect(forbidden.calls()).toBe('');
  expect(ensure({}, 'fails').run()).toMatch(/apt-get install tool-package failed\n *see .*apt\.log/);
});
