import { expect, test } from 'vitest';
import type { Shell } from '../machine/shell.ts';
import { removeImages } from './leftovers.ts';

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
