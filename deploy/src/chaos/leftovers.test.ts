import { expect, test } from 'vitest';
import type { Shell } from '../machine/shell.ts';
import { removeImages, stepsOf } from './leftovers.ts';

/** An engine with these images, of which `docker image ls` shows those of a repository. Notes other commands. */
function engineWith(names: readonly string[]) {
  const asked: string[] = [];
  const shell: Shell = {
    run: (_, args) => {
      const isList = args.includes('ls');
      if (!isList) asked.push(args.join(' '));
      const stdout = isList ? names.filter((name) => name.startsWith(`${args.at(-1)}:`)).join('\n') : '';
      return Promise.resolve({ code: 0, stdout, stderr: '' });
    },
  };
  return { shell, asked };
}

test('all images of campaigns at a cluster are removed, and none of another cluster', async () => {
  const { shell, asked } = engineWith([
    'gantry-chaos-a:pods',
    'gantry-chaos-a:quota-not-checked',
    'gantry-chaos-ab:pods',
  ]);
  await removeImages(shell, 'a');
  expect(asked).toEqual(['rmi -f --no-prune gantry-chaos-a:pods gantry-chaos-a:quota-not-checked']);
});

test('without such an image, the engine is asked to remove nothing', async () => {
  const { shell, asked } = engineWith(['gantry:1']);
  await removeImages(shell, 'a');
  expect(asked).toEqual([]);
});

test('a cluster that is removed needs no etcd that serves; only if its data stays, the next `up` ends a restore', () => {
  const start = { undo: 'start', container: 'a' } as const;
  const disarm = { undo: 'disarm' } as const;
  const end = { undo: 'end-restore', file: '/f' } as const;
  const journal = { faults: [{ id: 'f1', steps: [start, disarm, end] }] };
  expect(stepsOf(journal, 'containers')).toEqual([start, end]);
  expect(stepsOf(journal, 'commands')).toEqual([disarm, end]);
  expect(stepsOf(journal, 'containers to remove')).toEqual([start, { undo: 'remove-file', file: '/f' }]);
  expect(stepsOf(journal, 'containers to make again')).toEqual([start]);
});
