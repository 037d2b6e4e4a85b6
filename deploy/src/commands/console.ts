/** `npm run console [-- --kubeconfig FILE]`: opens the console, signed in as the user of a kubeconfig; by default the administrator. */
import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readKubeconfig } from '@gantry/client';
import { kubeconfigOf, openApi } from '../cluster/api.ts';
import { inheritedEnvironment, invokedIn, readCommandConfig } from '../config.ts';
import { oneTimeLink, tokenFor } from '../console/one-time-link.ts';
import { createShell } from '../machine/shell.ts';
import { mustReadSettings } from '../settings/ensure-settings.ts';
import { runCommand } from './run-command.ts';

const LIMIT_MS = 20_000;

await runCommand(async () => {
  const { values } = parseArgs({ options: { kubeconfig: { type: 'string' } } });
  const environment = inheritedEnvironment();
  const config = readCommandConfig(environment);
  const { consolePort } = mustReadSettings(config);
  const file =
    values.kubeconfig === undefined ? kubeconfigOf(config) : resolve(invokedIn(environment), values.kubeconfig);
  using api = openApi(config, file);
  const signal = AbortSignal.timeout(LIMIT_MS);
  const token = await tokenFor(readKubeconfig(file), api, signal);
  const link = await oneTimeLink(`http://127.0.0.1:${consolePort}`, token, signal);
  process.stdout.write(`good once, for two minutes:\n\n  ${link}\n\n`);
  const opener = openerOf(environment);
  if (opener === undefined) return 0;
  // Other users of the machine see arguments of programs: the browser gets the link from a file that only this user reads.
  const page = join(config.home, 'console.html');
  rmSync(page, { force: true });
  writeFileSync(page, `<!doctype html><meta http-equiv="refresh" content="0; url=${link}">\n`, {
    mode: 0o600,
    flag: 'wx',
  });
  const { code, stderr } = await createShell(config.root, environment).run(opener, [page]);
  if (code !== 0) process.stderr.write(`${opener} opened no browser: ${stderr.trim()}\n`);
  return 0;
});

/** The program that opens a file in the user's browser; undefined without a desktop. */
function openerOf(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  if (process.platform === 'darwin') return 'open';
  const hasDesktop = environment['DISPLAY'] !== undefined || environment['WAYLAND_DISPLAY'] !== undefined;
  return hasDesktop ? 'xdg-open' : undefined;
}
