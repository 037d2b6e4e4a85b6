import { randomBytes } from 'node:crypto';
import { systemClock, untilAborted } from '@gantry/base';
import Docker from 'dockerode';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { connectDocker } from './docker-runtime.ts';

const silent = () => undefined;

const SOCKET = '/var/run/docker.sock';
const { signal } = new AbortController();
const PLAIN = { stdout: true, stderr: true, terminal: 'none' } as const;

const docker = new Docker({ socketPath: SOCKET });
let container: Docker.Container;

beforeEach(async () => {
  const Labels = { 'gantry.cluster': `leftovers-${randomBytes(4).toString('hex')}` };
  container = await docker.createContainer({ Image: 'busybox:1.36', Cmd: ['sleep', '1000'], Labels });
  await container.start();
});
afterEach(async () => {
  await container.remove({ force: true });
});

async function processes(): Promise<readonly string[]> {
  const { Processes: found } = (await container.top({ ps_args: '-eo pid,args' })) as {
    Processes: readonly (readonly string[])[];
  };
  return found.map((columns) => columns.slice(1).join(' '));
}

/** How many commands run in the container, by the engine. */
async function runningCommands(): Promise<number> {
  const { ExecIDs } = (await container.inspect()) as { ExecIDs: readonly string[] | null };
  const states = await Promise.all((ExecIDs ?? []).map((id) => docker.getExec(id).inspect()));
  return states.filter(({ Running }) => Running).length;
}

async function eventually(check: () => Promise<boolean>): Promise<void> {
  for (let tried = 0; tried < 1200; tried++) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('the condition did not hold within 60 s');
}

it('an agent kills what an earlier one has left running in a container, and nothing else', async () => {
  const [earlier, now] = [1, 2].map(() => connectDocker(SOCKET, () => 'no-sys-resource', systemClock, silent));
  const begin = async (runtime: typeof earlier, seconds: string) => {
    const outputs = runtime?.streams.execStream(
      container.id,
      ['sh', '-c', `echo begun; sleep ${seconds}; true`],
      PLAIN,
      signal,
    );
    const iterator = outputs?.[Symbol.asyncIterator]();
    await iterator?.next();
    return iterator;
  };
  await begin(earlier, '4331');
  const own = await begin(now, '4332');
  const exec = await container.exec({ Cmd: ['sleep', '4333'], AttachStdout: true });
  await exec.start({ Detach: true });
  const shown = async () => (await processes()).filter((line) => line.startsWith('sleep 433')).sort();
  await eventually(async () => (await shown()).length === 3);
  await now?.streams.killLeftovers(container.id, signal);
  await eventually(async () => (await shown()).length === 2);
  expect(await shown()).toEqual(['sleep 4332', 'sleep 4333']);
  await own?.return?.();
  await eventually(async () => (await shown()).length === 1);
});

it('a command whose client leaves while it starts does not stay', async () => {
  const runtime = connectDocker(SOCKET, () => 'no-sys-resource', systemClock, silent);
  const runs = Array.from({ length: 24 }, async (_, index) => {
    const client = new AbortController();
    // Read when the engine has answered.
    const stdin = (async function* () {
      setTimeout(() => client.abort(new Error('left')), index * 10);
      await untilAborted(new AbortController().signal);
      yield Buffer.alloc(0);
    })();
    const outputs = runtime.streams.execStream(container.id, ['sleep', '4334'], { ...PLAIN, stdin }, client.signal);
    await expect(outputs[Symbol.asyncIterator]().next()).rejects.toThrow('left');
  });
  await Promise.all(runs);
  // The engine counts a command as running from the request to start it, which it may still carry out now.
  await eventually(async () => (await runningCommands()) === 0);
  expect((await processes()).filter((line) => line.startsWith('sleep 4334'))).toEqual([]);
});
