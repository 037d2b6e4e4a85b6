import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { CommandConfig } from '../config.ts';
import type { Shell } from '../machine/shell.ts';
import { forgetConfiguration, loadConfiguration, runningBalancers } from './load-balancers.ts';

function checkout(): CommandConfig {
  const root = mkdtempSync(join(tmpdir(), 'gantry-test-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  cpSync(join(import.meta.dirname, '../../load-balancer'), join(root, 'deploy/load-balancer'), { recursive: true });
  return { root, home: root, homeKind: 'checkout', overlays: [] };
}

function machine() {
  const commands: string[] = [];
  const shell: Shell = {
    run: async (_, args) => {
      const command = args.join(' ');
      commands.push(command);
      return { code: 0, stdout: command.includes('service=load-balancer') ? 'b1\n' : '', stderr: '' };
    },
  };
  return { shell, commands };
}

test('a load balancer that stays reads its configuration when that has changed, and not otherwise', async () => {
  const config = checkout();
  const { shell, commands } = machine();
  expect(await loadConfiguration(config, shell, []), 'it has just started').toBe(false);
  expect(await loadConfiguration(config, shell, ['b1'])).toBe(false);
  expect(commands).toEqual([]);
  writeFileSync(join(config.root, 'deploy/load-balancer/suspects.lua'), '-- other\n');
  expect(await loadConfiguration(config, shell, ['b1', 'b2'])).toBe(true);
  expect(commands).toEqual(['kill --signal SIGUSR2 b1', 'kill --signal SIGUSR2 b2']);
  expect(await loadConfiguration(config, shell, ['b1'])).toBe(false);
  forgetConfiguration(config);
  expect(await loadConfiguration(config, shell, ['b1'])).toBe(true);
});

test('the load balancers of a cluster are those of its project that run', async () => {
  const { shell, commands } = machine();
  expect(await runningBalancers(shell, 'gantry-a')).toEqual(['b1']);
  expect(commands[0]).toBe(
    'ps -q --no-trunc --filter status=running --filter label=com.docker.compose.project=gantry-a --filter label=com.docker.compose.service=load-balancer',
  );
});
