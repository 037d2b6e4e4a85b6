import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { linuxMounts } from './linux-mounts.ts';
import { runProgram, tryProgram } from './run-program.ts';

const { signal } = new AbortController();

describe('an NFS volume', () => {
  it('is refused with the reason where its server has no address', async () => {
    const source = { server: 'nowhere.invalid', path: '/x', options: [], access: 'read-write' } as const;
    const base = await mkdtemp(join(tmpdir(), 'gantry-nfs-'));
    try {
      const made = linuxMounts().network.mountNfs(join(base, 'v'), source, signal);
      await expect(made).rejects.toThrow(/^the address of the NFS server nowhere\.invalid is not found: E/);
      await expect(linuxMounts().network.checkAnswers(join(base, 'v'), signal)).rejects.toThrow('is not mounted');
    } finally {
      await rm(base, { recursive: true });
    }
  });
});

describe('a program', () => {
  it('ends well, fails with what it says, is killed for its time, and with its signal', async () => {
    expect(await tryProgram('true', [])).toBeUndefined();
    expect(await tryProgram('sh', ['-c', 'echo why >&2; exit 3'])).toEqual({ kind: 'failed', output: 'why' });
    await expect(runProgram('sh', ['-c', 'echo why >&2; exit 3'])).rejects.toThrow('sh failed: why');
    expect(await tryProgram('sleep', ['1000'], { timeoutMs: 10 })).toEqual({ kind: 'timeout', output: '' });
    await expect(runProgram('sleep', ['1000'], { timeoutMs: 10 })).rejects.toThrow('sleep did not end within 0.01 s');
    await expect(tryProgram('sleep', ['1000'], { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow(
      'enough',
    );
    // Its child keeps the output open after its death, like an unmount that the kernel does not let die.
    const stuck = ['-c', 'sleep 1000 & echo $! >&2; wait'];
    const { kind, output = '' } = (await tryProgram('sh', stuck, { timeoutMs: 100 })) ?? {};
    expect([kind, output]).toEqual(['timeout', expect.stringMatching(/^[1-9]\d*$/)]);
    process.kill(Number(output), 'SIGKILL');
    await expect(tryProgram('no-such-program', [])).rejects.toThrow('no-such-program cannot be run');
  });
});
