import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger } from '@gantry/service';
import { expect, test } from 'vitest';
import { scriptProgram } from '../testing/scripted-program.ts';
import { BridgePorts, keepHairpin } from './hairpin.ts';

const line = (index: number, name: string, master: string) =>
  `${index}: ${name}@if4: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue${master} state UP group default \\    link/ether 1a:2b`;

test('each port of the bridge is found once, and again when its number is given to another', () => {
  const ports = new BridgePorts('gtp-a');
  expect(ports.take(line(7, 'veth1', ' master gtp-a'))).toBe('veth1');
  expect(ports.take(line(7, 'veth1', ' master gtp-a'))).toBeUndefined();
  expect(ports.take(line(8, 'veth2', ' master gtp-b'))).toBeUndefined();
  expect(ports.take(line(9, 'veth3', ''))).toBeUndefined();
  expect(ports.take(line(9, 'veth3', ' master gtp-a'))).toBe('veth3');
  expect(ports.take(`Deleted ${line(7, 'veth1', ' master gtp-a')}`)).toBeUndefined();
  expect(ports.take(line(7, 'veth9', ' master gtp-a'))).toBe('veth9');
});

/** Writes an `ip` whose `monitor` never ends by itself. The listing writes the monitor's process id, and then runs `listed`. */
const scriptIp = (listed: string) =>
  scriptProgram(
    'ip',
    `mkfifo "$FOLDER/started" 2>/dev/null
case "$*" in
  *monitor*) echo $$ > "$FOLDER/started"; exec tail -f /dev/null;;
  *show*) cat "$FOLDER/started" > "$FOLDER/monitor"; ${listed};;
esac
`,
  );

test.each([
  ['a port cannot be set, since no program starts', `rm "$0"; echo '${line(7, 'veth1', ' master gtp-a')}'`, 'ENOENT'],
  ['the ports cannot be listed', 'echo no memory >&2; exit 2', 'no memory'],
])('following ends where %s, and leaves no program behind', async (_, listed, reason) => {
  const folder = scriptIp(listed);
  const { signal } = new AbortController();
  await expect(keepHairpin('gtp-a', silentLogger, signal)).rejects.toThrow(reason);
  const monitor = Number(readFileSync(join(folder, 'monitor'), 'utf8'));
  expect(monitor).toBeGreaterThan(0);
  expect(() => process.kill(monitor, 0)).toThrow('ESRCH');
});

test('following ends where the monitor does not start', async () => {
  scriptProgram('ip', 'case "$*" in *monitor*) echo no socket >&2; exit 1;; *show*) exec tail -f /dev/null;; esac\n');
  const { signal } = new AbortController();
  await expect(keepHairpin('gtp-a', silentLogger, signal)).rejects.toThrow('no socket');
});
