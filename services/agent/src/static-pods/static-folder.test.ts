import { once } from 'node:events';
import { createServer } from 'node:net';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import type { KubeObject, Pod } from '@gantry/objects';
import { createLogger } from '@gantry/service';
import { expect, it, onTestFinished } from 'vitest';
import { type FolderIo, StaticFolder } from './static-folder.ts';
import { readRegularFile } from '../files/if-there.ts';

const manifest = (name: string, image = 'nginx') =>
  `{apiVersion: v1, kind: Pod, metadata: {name: ${name}}, spec: {containers: [{name: c, image: ${image}}]}}`;

async function startFolder(io?: Partial<FolderIo>) {
  const folder = await mkdtemp(join(tmpdir(), 'static-'));
  const clock = new ManualClock(Date.parse('2026-01-01T00:00:00Z'));
  const events: string[] = [];
  let pods: readonly Pod[] = [];
  const options = {
    folder,
    node: 'n',
    onPods: (found: readonly Pod[]) => (pods = found),
    events: {
      event: ({ kind, metadata }: KubeObject, type: string, reason: string, text: string) =>
        void events.push(`${kind} ${metadata.name} ${type} ${reason} ${text}`),
    },
    clock,
    logger: createLogger({ service: 'agent', level: 'fatal' }),
  };
  const source = new StaticFolder(options, io);
  const stop = new AbortController();
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const write = (name: string, text: string) => writeFile(join(folder, name), text);
  const names = () => pods.map(({ metadata }) => metadata.name);
  /** Advances the clock in steps until the folder's pods have been read. */
  const untilRead = async (stepMs: number, expected: readonly string[]) => {
    const pass = async () => {
      await clock.advance(stepMs);
      return names();
    };
    await expect.poll(pass).toEqual(expected);
  };
  return {
    folder,
    source,
    events,
    clock,
    stop,
    write,
    pods: () => pods,
    names,
    untilRead,
  };
}

it('has a pod for each regular file with one, and none for hidden files, folders and devices', async () => {
  const { folder, source, events, write, names } = await startFolder();
  await write('a.yaml', manifest('a'));
  await write('.b.yaml.swp', manifest('b'));
  await mkdir(join(folder, 'c'));
  await symlink('/dev/zero', join(folder, 'd.yaml'));
  await symlink('nowhere', join(folder, 'e.yaml'));
  await source.read();
  expect(names()).toEqual(['a-n']);
  expect(events).toEqual([]);
});

it('reports a bad file once, with its path and fault, and the others run', async () => {
  const { folder, source, events, write, names } = await startFolder();
  await write('a.yaml', manifest('a'));
  await write('bad.yaml', '{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {containers: []}}');
  await source.read();
  await source.read();
  expect(names()).toEqual(['a-n']);
  expect(events).toEqual([
    `Node n Warning InvalidStaticPod static pod file ${join(folder, 'bad.yaml')}: invalid pod: spec.containers: Required value`,
  ]);
  await write('bad.yaml', manifest('b'));
  await source.read();
  expect(names()).toEqual(['a-n', 'b-n']);
});

it('reports a file that cannot be opened once, and the others run', async () => {
  const { folder, source, events, write, names } = await startFolder();
  await write('a.yaml', manifest('a'));
  // A socket can be connected to, but not opened as a file.
  const server = createServer().listen(join(folder, 'b.yaml'));
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  await write('c.yaml', manifest('c'));
  await source.read();
  await source.read();
  expect(names()).toEqual(['a-n', 'c-n']);
  expect(events).toEqual([
    expect.stringContaining(`Warning InvalidStaticPod static pod file ${join(folder, 'b.yaml')}: ENXIO`),
  ]);
  await rm(join(folder, 'b.yaml'));
  await write('b.yaml', manifest('b'));
  await source.read();
  expect(names()).toEqual(['a-n', 'b-n', 'c-n']);
});

it('ends no pod because the agent has no descriptors to spare', async () => {
  const shortages: Error[] = [];
  const { source, write, names } = await startFolder({
    readFile: async (path, maxBytes) => {
      for (const shortage of shortages) throw shortage;
      return await readRegularFile(path, maxBytes);
    },
  });
  await write('a.yaml', manifest('a'));
  await source.read();
  shortages.push(Object.assign(new Error('EMFILE: too many open files, open'), { code: 'EMFILE' }));
  await expect(source.read()).rejects.toThrow('EMFILE');
  expect(names()).toEqual(['a-n']);
});

it('does not read a file of any size', async () => {
  const { source, events, write, names } = await startFolder();
  await write('a.yaml', `${manifest('a')}${' '.repeat(11 * 2 ** 20)}`);
  await source.read();
  expect(names()).toEqual([]);
  expect(events).toEqual([expect.stringContaining('it has more than 10485760 bytes')]);
});

it('keeps the object of a file that did not change, and takes the later of two files with one name', async () => {
  const { source, write, pods } = await startFolder();
  await write('a.yaml', manifest('a', 'one'));
  await write('b.yaml', manifest('a', 'two'));
  await source.read();
  const [before] = pods();
  await source.read();
  expect(pods()).toEqual([before]);
  expect(pods()[0]).toBe(before);
  expect(before?.spec?.containers[0]?.image).toBe('two');
});

it('has no pods without its folder, and does not take a folder that it cannot read for an empty one', async () => {
  const { folder, source, write, names } = await startFolder();
  await write('a.yaml', manifest('a'));
  await source.read();
  await rm(folder, { recursive: true });
  await writeFile(folder, '');
  await expect(source.read()).rejects.toThrow('ENOTDIR');
  expect(names()).toEqual(['a-n']);
  await rm(folder);
  await source.read();
  expect(names()).toEqual([]);
});

it('reads the folder again when the kernel reports a change', async () => {
  const { source, stop, clock, write, untilRead } = await startFolder();
  const running = source.run(stop.signal);
  await expect.poll(() => clock.nextTimerMs()).toBeDefined();
  await write('a.yaml', manifest('a'));
  await untilRead(200, ['a-n']);
  stop.abort();
  await running;
});

it('reads the folder at intervals where the kernel watches none', async () => {
  const { source, stop, clock, write, untilRead } = await startFolder({
    watch: () => {
      throw Object.assign(new Error('EMFILE: too many open files, watch'), { code: 'EMFILE' });
    },
  });
  const running = source.run(stop.signal);
  await expect.poll(() => clock.nextTimerMs()).toBe(20_000);
  await write('a.yaml', manifest('a'));
  await untilRead(20_000, ['a-n']);
  stop.abort();
  await running;
});
