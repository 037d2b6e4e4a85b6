import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { CommandConfig } from '../config.ts';
import { lockRestore } from '../snapshot/restore-lock.ts';
import { refuseDuringCampaign, takeCampaignLock } from './campaign-lock.ts';
import { Journal } from './journal.ts';

function configOfNewHome(): CommandConfig {
  const home = mkdtempSync(join(tmpdir(), 'gantry-lock-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  return { home } as CommandConfig;
}

test('of two campaigns that start together, one is refused', () => {
  const config = configOfNewHome();
  const first = takeCampaignLock(config);
  expect(() => takeCampaignLock(config)).toThrow('npm run chaos runs on this cluster');
  new Journal(config, 42).begin('chaos');
  expect(() => refuseDuringCampaign(config)).toThrow('(process 42)');
  first[Symbol.dispose]();
  expect(() => refuseDuringCampaign(config)).not.toThrow();
});

test('nothing else begins while a snapshot is restored, also after the campaign that began it was killed', () => {
  const config = configOfNewHome();
  takeCampaignLock(config)[Symbol.dispose]();
  const restore = lockRestore(config);
  expect(() => refuseDuringCampaign(config)).toThrow('a snapshot of this cluster is being restored');
  restore?.[Symbol.dispose]();
  expect(() => refuseDuringCampaign(config)).not.toThrow();
});

/** A process that takes the lock and keeps it, or says why not. Its first line is `taken` or `refused`. */
function startHolder(config: CommandConfig) {
  const module = new URL('campaign-lock.ts', import.meta.url).href;
  const program = `const { takeCampaignLock } = await import('${module}');
    try { globalThis.lock = takeCampaignLock(${JSON.stringify(config)}); console.log('taken'); setInterval(() => {}, 1000); }
    catch (error) { console.log(error.message.includes('runs on this cluster') ? 'refused' : error); }`;
  const options = ['--conditions=gantry-source', '--disable-warning=ExperimentalWarning', '--input-type=module'];
  const holder = spawn(process.execPath, [...options, '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void holder.kill('SIGKILL'));
  return { holder, said: once(holder.stdout, 'data').then(([line]) => String(line).trim()) };
}

test('of processes that start at the same moment, one may make faults', async () => {
  for (let turn = 0; turn < 3; turn++) {
    const config = configOfNewHome();
    const started = Array.from({ length: 6 }, () => startHolder(config));
    const said = await Promise.all(started.map((one) => one.said));
    expect(said.toSorted()).toEqual(['refused', 'refused', 'refused', 'refused', 'refused', 'taken']);
    for (const { holder } of started) holder.kill('SIGKILL');
  }
});

test('a campaign that was killed holds up nobody, though its journal is there', async () => {
  const config = configOfNewHome();
  new Journal(config, process.pid).begin('chaos');
  const { holder, said } = startHolder(config);
  expect(await said).toBe('taken');
  expect(() => refuseDuringCampaign(config)).toThrow('npm run chaos runs on this cluster');
  holder.kill('SIGKILL');
  await once(holder, 'close');
  expect(() => refuseDuringCampaign(config)).not.toThrow();
});

test('a home without a campaign is left as it is', () => {
  expect(() => refuseDuringCampaign({ home: '/does/not/exist' } as CommandConfig)).not.toThrow();
});
