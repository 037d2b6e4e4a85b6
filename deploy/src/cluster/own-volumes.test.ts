import { expect, it } from 'vitest';
import type { Shell } from '../machine/shell.ts';
import { findOwnVolumes } from './own-volumes.ts';

const [FIRST, SECOND] = ['a', 'b'].map((letter) => letter.repeat(64));

/** An engine with two agents of `one`. */
const shell: Shell = {
  run: (_program, args) => {
    const isOfOne = args.includes('label=com.docker.compose.project=one');
    const stdout =
      args[0] === 'ps' ? (isOfOne ? '1\n2\n' : '') : `${FIRST}\none_agent-state\n\n${SECOND}\none_agent-state\n\n`;
    return Promise.resolve({ code: 0, stdout, stderr: '' });
  },
};

it('volumes without a name are those of the containers themselves', async () => {
  expect(await findOwnVolumes(shell, 'one', 'agent')).toEqual([FIRST, SECOND]);
  expect(await findOwnVolumes(shell, 'other', 'agent')).toEqual([]);
});
