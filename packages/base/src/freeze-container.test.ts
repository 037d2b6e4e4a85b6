import { expect, it } from 'vitest';
import { freezeContainer } from './freeze-container.ts';

const UNABLE =
  '(HTTP code 500) server error - Cannot pause container 3f: OCI runtime pause failed: unable to freeze: unknown';
const RUNS = '(HTTP code 500) server error - Container 3f is not paused';

/** A container whose next calls fail with these messages. Records the calls. */
function scripted({ pause = [], unpause = [] }: { pause?: readonly string[]; unpause?: readonly string[] }) {
  const calls: string[] = [];
  const left = { pause: [...pause], unpause: [...unpause] };
  const call = (name: 'pause' | 'unpause') => async () => {
    calls.push(name);
    const message = left[name].shift();
    if (message !== undefined) throw new Error(message);
  };
  return { calls, container: { pause: call('pause'), unpause: call('unpause') } };
}

it('a container that freezes at once is not thawed', async () => {
  const { calls, container } = scripted({});
  await freezeContainer(container);
  expect(calls).toEqual(['pause']);
});

it('what runc was unable to freeze is thawed and frozen again, whether the engine has it paused or running', async () => {
  const { calls, container } = scripted({ pause: [UNABLE, UNABLE], unpause: [RUNS] });
  await freezeContainer(container);
  expect(calls).toEqual(['pause', 'unpause', 'pause', 'unpause', 'pause']);
});

it('another error ends it: of the freezing, and of the thawing between two attempts', async () => {
  const gone = scripted({ pause: ['No such container: 3f'] });
  await expect(freezeContainer(gone.container)).rejects.toThrow('No such container');
  expect(gone.calls).toEqual(['pause']);
  const stuck = scripted({ pause: [UNABLE], unpause: ['Cannot unpause container 3f'] });
  await expect(freezeContainer(stuck.container)).rejects.toThrow('Cannot unpause');
  expect(stuck.calls).toEqual(['pause', 'unpause']);
});

it('a container that never freezes fails with the error of the last attempt', async () => {
  const { calls, container } = scripted({ pause: Array<string>(100).fill(UNABLE) });
  await expect(freezeContainer(container)).rejects.toThrow('unable to freeze');
  expect(calls.filter((name) => name === 'pause')).toHaveLength(20);
  expect(calls.at(-1)).toBe('pause');
});
