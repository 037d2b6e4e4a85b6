import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { silentLogger } from '@gantry/service';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { hostRange } from '../rules/host-addresses.ts';
import { scriptProgram } from '../testing/scripted-program.ts';
import { BridgeAddresses, podPortsOf, removeBridgeAddresses, removePodPorts } from './bridge-addresses.ts';

const range = hostRange('10.128.0.0/20') ?? { first: 0, last: 0 };
/** Long enough for programs on a busy machine. */
const WAIT = { timeout: 30_000 };
/** Lists the content of `addresses`, and records the input of `ip -batch`. */
const SCRIPT = `
if [ "$1" = -batch ]; then cat >> "$FOLDER/batch"; exit; fi
[ -e "$FOLDER/addresses" ] || { echo 'Device "gtp-test" does not exist.' >&2; exit 1; }
cat "$FOLDER/addresses"
`;

test('addresses are written when they are known, and again after others have removed them', async () => {
  const folder = scriptProgram('ip', SCRIPT);
  const clock = new ManualClock();
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const batch = () => readFileSync(join(folder, 'batch'), 'utf8');
  writeFileSync(join(folder, 'addresses'), '');
  const addresses = new BridgeAddresses({ device: 'gtp-test', range, clock, logger: silentLogger });
  void addresses.run(stop.signal);
  addresses.keep(new Set(['10.128.12.3']));
  const line = 'address replace 10.128.12.3/32 dev gtp-test\n';
  // The first round has ended when the next one is due.
  await vi.waitFor(() => expect(clock.nextTimerMs()).toBe(5000), WAIT);
  expect(batch()).toBe(line);
  await clock.advance(5000);
  await vi.waitFor(() => expect(clock.nextTimerMs()).toBe(5000), WAIT);
  expect(batch()).toBe(line.repeat(2));
});

test('removal takes them away; a bridge that is not there has none', async () => {
  const folder = scriptProgram('ip', SCRIPT);
  const { signal } = new AbortController();
  await removeBridgeAddresses({ device: 'gtp-test', range }, signal);
  writeFileSync(join(folder, 'addresses'), '9: gtp-test    inet 10.128.12.3/32 scope global gtp-test\\\n');
  await removeBridgeAddresses({ device: 'gtp-test', range }, signal);
  expect(readFileSync(join(folder, 'batch'), 'utf8')).toBe('address delete 10.128.12.3/32 dev gtp-test\n');
});

describe('pod ports', () => {
  const line = (number: number, name: string, bridge: string) =>
    `${number}: ${name}: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue master ${bridge} state UP mode DEFAULT group default\\    link/ether 56:c9:cd:71:59:e4 brd ff:ff:ff:ff:ff:ff link-netnsid 17\n`;
  const LISTING = [
    line(7, 'gp0a800735@if2', 'gtp-test'),
    line(8, 'gp0a800736@if2', 'gtp-test'),
    line(9, 'gp0a800737@if2', 'gtp-other'),
    line(10, 'veth0a8007@if9', 'gtp-test'),
    line(11, 'gp0a800738@if2', 'gtp-test-2'),
  ].join('');

  /** Prints `links`, and records the input of `ip -batch`. If there is a file `after`, it becomes `links`, and the batch fails. */
  const SCRIPT = `
if [ "$1" = -o ]; then cat "$FOLDER/links"; exit; fi
cat >> "$FOLDER/batch"
if [ -e "$FOLDER/after" ]; then mv "$FOLDER/after" "$FOLDER/links"; echo 'Cannot find device' >&2; exit 1; fi
`;

  function scriptIp(links: string): { readonly folder: string; readonly batch: () => string } {
    const folder = scriptProgram('ip', SCRIPT);
    writeFileSync(join(folder, 'links'), links);
    const batch = join(folder, 'batch');
    return { folder, batch: () => (existsSync(batch) ? readFileSync(batch, 'utf8') : '') };
  }

  const { signal } = new AbortController();

  test("a bridge's ports for pods are known by their names and the bridge", () => {
    expect(podPortsOf(LISTING, 'gtp-test')).toEqual(['gp0a800735', 'gp0a800736']);
  });

  test('they are removed, and no others', async () => {
    const { batch } = scriptIp(LISTING);
    await removePodPorts('gtp-test', signal);
    expect(batch()).toBe('link delete gp0a800735\nlink delete gp0a800736\n');
  });

  test('without any there is nothing to do', async () => {
    const { batch } = scriptIp(LISTING);
    await removePodPorts('gtp-none', signal);
    expect(batch()).toBe('');
  });

  test('one that is gone meanwhile is no failure; one that stays is', async () => {
    const { folder } = scriptIp(LISTING);
    writeFileSync(join(folder, 'after'), '');
    await removePodPorts('gtp-test', signal);
    writeFileSync(join(folder, 'links'), LISTING);
    writeFileSync(join(folder, 'after'), LISTING);
    await expect(removePodPorts('gtp-test', signal)).rejects.toThrow('Cannot find device');
  });
});
