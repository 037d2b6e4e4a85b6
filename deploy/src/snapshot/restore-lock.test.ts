import { expect, test } from 'vitest';
import { removeUnpacked } from './restore-lock.ts';

/** A Docker with containers of the volume, by state. It removes no volume that has a container. */
function fakeDocker(containers: Map<string, string>) {
  const removed: string[] = [];
  const docker = async ([verb = '', ...args]: readonly string[]): Promise<string> => {
    const last = args.at(-1) ?? '';
    if (verb === 'ps') {
      expect(last).toBe('volume=gantry-abc_restore');
      return [...containers].flatMap(([id, state]) => (args.includes(`status=${state}`) ? `${id}\n` : [])).join('');
    }
    if (verb === 'rm' && containers.get(last) === 'running') throw new Error(`${last} runs`);
    if (verb === 'rm') containers.delete(last);
    else if (containers.size > 0) throw new Error('volume is in use');
    else removed.push(last);
    return await Promise.resolve('');
  };
  return { docker, removed };
}

test('a container that never started does not keep the volume of a restore that was killed', async () => {
  const { docker, removed } = fakeDocker(
    new Map([
      ['a', 'created'],
      ['b', 'exited'],
    ]),
  );
  await removeUnpacked(docker, 'gantry-abc');
  expect(removed).toEqual(['gantry-abc_restore']);
});

test('a container that still copies keeps it', async () => {
  const { docker, removed } = fakeDocker(new Map([['a', 'running']]));
  await expect(removeUnpacked(docker, 'gantry-abc')).rejects.toThrow('in use');
  expect(removed).toEqual([]);
});
