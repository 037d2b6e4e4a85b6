import { ManualClock } from '@gantry/base/testing';
import { describe, expect, it } from 'vitest';
import type { Shell } from '../machine/shell.ts';
import { removePodLeftovers } from './pod-leftovers.ts';

/** An engine with these containers, each of which it fails to kill so many times. */
function engine(containers: Readonly<Record<string, number>>) {
  const left = new Map(Object.entries(containers));
  const commands: string[] = [];
  const shell: Shell = {
    run: (_program, args) => {
      if (args[0] === 'ps') return Promise.resolve({ code: 0, stdout: [...left.keys()].join('\n'), stderr: '' });
      if (args[0] !== 'rm') return Promise.resolve({ code: 0, stdout: '', stderr: '' });
      const named = args.slice(3);
      commands.push(named.join(' '));
      const failed = named.filter((id) => (left.get(id) ?? 0) > 0);
      for (const id of named) left.set(id, (left.get(id) ?? 0) - 1);
      for (const id of named) if (!failed.includes(id)) left.delete(id);
      const stderr = failed.map((id) => `Error: could not kill ${id}`).join('\n');
      return Promise.resolve({ code: failed.length > 0 ? 1 : 0, stdout: '', stderr });
    },
  };
  return { shell, commands };
}

async function remove(shell: Shell, notes: string[] = []): Promise<number> {
  const clock = new ManualClock();
  let isDone = false;
  const removed = removePodLeftovers(shell, clock, 'cluster', (note) => notes.push(note));
  const end = () => (isDone = true);
  void removed.then(end, end);
  while (!isDone) await clock.advance(100);
  return await removed;
}

describe('removePodLeftovers', () => {
  it('removes all at once, and counts them', async () => {
    const { shell, commands } = engine({ a: 0, b: 0 });
    expect(await remove(shell)).toBe(2);
    expect(commands).toEqual(['a b']);
  });

  it('removes again what the engine could not kill in time', async () => {
    const { shell, commands } = engine({ a: 0, b: 2 });
    const notes: string[] = [];
    expect(await remove(shell, notes)).toBe(2);
    expect(commands).toEqual(['a b', 'b', 'b']);
    expect(notes).toContain('Error: could not kill b');
  });

  it('says in the end why a container is left', async () => {
    const { shell } = engine({ a: Number.POSITIVE_INFINITY });
    await expect(remove(shell)).rejects.toThrow(
      "the removal of pods' containers took longer than 300 s: Error: could not kill a",
    );
  });
});
