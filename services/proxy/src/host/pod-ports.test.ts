import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scriptProgram } from '../testing/scripted-program.ts';
import { podPortsOf, removePodPorts } from './pod-ports.ts';

const line = (number: number, name: string, bridge: string) =>
  `${number}: ${name}: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue master ${bridge} state UP mode DEFAULT group default\\    link/ether 56:c9:cd:71:59:e4 brd ff:ff:ff:ff:ff:ff link-netnsid 17\n`;
const LISTING = [
  line(7, 'gp0a800735@if2', 'gtp-test'),
  line(8, 'gp0a800736@if2', 'gtp-test'),
  line(9, 'gp0a800737@if2', 'gtp-other'),
  line(10, 'veth0a8007@if9', 'gtp-test'),
  line(11, 'gp0a800738@if2', 'gtp-test-2'),
].join('');

/** Prints `links`, and writes down what is asked of `ip -batch`; with a file `after`, that becomes `links`, and the batch fails. */
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
