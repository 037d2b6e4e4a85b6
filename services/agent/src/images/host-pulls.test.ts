import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { silentLogger } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AgentError } from '../runtime/agent-error.ts';
import type { ImageRuntime, PullReport, RegistryCredential } from '../runtime/images.ts';
import { HostPulls, type PullAudience } from './host-pulls.ts';
import { ImagePuller } from './image-puller.ts';
import type { PullCredential } from './keyring.ts';
import { PulledImages } from './pulled-images.ts';

const IMAGE = { id: 'sha256:1', sizeBytes: 1, digests: [], user: '', labels: [] };
const { signal } = new AbortController();
const user = (username: string): PullCredential => ({
  username,
  password: 'p',
  hash: username,
  secret: { uid: username, namespace: 'default', name: username },
});

/** An engine with one image. The test ends its pulls. */
class Engine implements Pick<ImageRuntime, 'inspectImage' | 'pullImage'> {
  readonly pulls: { readonly by: string; readonly report: PullReport; readonly end: (error?: Error) => void }[] = [];
  has = false;

  async inspectImage() {
    return this.has ? IMAGE : undefined;
  }

  async pullImage(
    _reference: string,
    credential: RegistryCredential | 'anonymous',
    aborted: AbortSignal,
    report: PullReport = () => undefined,
  ): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    aborted.addEventListener('abort', () => reject(new Error('aborted')));
    const end = (error?: Error) => {
      this.has ||= error === undefined;
      if (error === undefined) resolve(undefined);
      else reject(error);
    };
    this.pulls.push({ by: credential === 'anonymous' ? credential : credential.username, report, end });
    await promise;
  }
}

describe('agents of one host', () => {
  let folder: string;
  let engine: Engine;
  let clock: ManualClock;
  let records: PulledImages;
  let warnings: string[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'pulls-'));
    [engine, clock, warnings] = [new Engine(), new ManualClock(), []];
    records = new PulledImages(folder, 'n');
  });
  afterEach(() => rm(folder, { recursive: true }));

  const sharing = () =>
    new HostPulls({
      folder: join(folder, 'pulls'),
      clock,
      logger: { ...silentLogger, warn: (_facts: unknown, text: string) => void warnings.push(text) },
    });
  const agent = () => new ImagePuller({ images: engine, records, sharing: sharing(), clock });
  const pullsOf = (count: number) => expect.poll(() => engine.pulls.length).toBe(count);
  const names = () => readdir(join(folder, 'pulls'));
  /** Waits for another agent's pull. Returns after progress of the pull has arrived. */
  const follow = async (one: ImagePuller, credentials: readonly PullCredential[] = [], abort = signal) => {
    const heard: number[] = [];
    const pull = one.pull('app', credentials, abort, ({ bytes }) => void heard.push(bytes));
    pull.catch(() => undefined);
    await expect
      .poll(() => {
        engine.pulls.at(-1)?.report({ bytes: 7, totalBytes: 9 });
        return heard.length;
      })
      .toBeGreaterThan(0);
    return { pull, heard };
  };

  it('that need the same image at once cause one pull, and each of them hears its progress and its end', async () => {
    const first = agent().pull('app', [], signal);
    await pullsOf(1);
    const second = await follow(agent());
    const third = await follow(agent());
    engine.pulls[0]?.end();
    expect(await Promise.all([first, second.pull, third.pull])).toMatchObject([
      { image: IMAGE },
      { image: IMAGE },
      { image: IMAGE },
    ]);
    expect(second.heard[0]).toBe(7);
    expect(engine.pulls).toHaveLength(1);
    expect(await names()).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it('get the same failure', async () => {
    const first = agent().pull('app', [], signal);
    first.catch(() => undefined);
    await pullsOf(1);
    const second = await follow(agent());
    engine.pulls[0]?.end(new AgentError('ErrImagePull', 'no such image'));
    await expect(first).rejects.toThrow('no such image');
    await expect(second.pull).rejects.toThrow(/^no such image$/);
    expect(engine.pulls).toHaveLength(1);
  });

  it('ask the registry with each credential: none waits for a pull with another one', async () => {
    const pulls = [[user('a')], [user('b')], []].map((credentials) => agent().pull('app', credentials, signal));
    await pullsOf(3);
    expect(engine.pulls.map(({ by }) => by).toSorted()).toEqual(['a', 'anonymous', 'b']);
    const refused = new AgentError('ErrImagePull', 'denied');
    for (const { by, end } of engine.pulls) end(by === 'a' ? undefined : refused);
    expect((await Promise.allSettled(pulls)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
    ]);
    expect(await records.mayUse('sha256:1', 'app', async () => [user('b')])).toBe(false);
  });

  it('do not take the word of another one for the right to an image', async () => {
    const leader = await sharing().join('["app",["b","b"]]', silent(), signal);
    await records.record('sha256:1', { reference: 'app', access: { secret: user('a').secret, hash: 'a' } });
    engine.has = true;
    const heard: number[] = [];
    const pull = agent().pull('app', [user('b')], signal, ({ bytes }) => void heard.push(bytes));
    if (leader.kind !== 'led') throw new Error('not the first');
    await expect
      .poll(() => {
        leader.report({ bytes: 3, totalBytes: 4 });
        return heard.length;
      })
      .toBeGreaterThan(0);
    await leader.end({ kind: 'pulled', tookMs: 1 });
    await pullsOf(1);
    expect(engine.pulls[0]?.by).toBe('b');
    engine.pulls[0]?.end(new AgentError('ErrImagePull', 'denied'));
    await expect(pull).rejects.toThrow('denied');
  });

  it('go on with a pull for those who wait, when the pod for which it began has gone', async () => {
    const gone = new AbortController();
    const first = agent().pull('app', [], gone.signal);
    await pullsOf(1);
    const leaves = new AbortController();
    const second = await follow(agent());
    const third = await follow(agent(), [], leaves.signal);
    gone.abort(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    leaves.abort(new Error('left'));
    await expect(third.pull).rejects.toThrow('left');
    engine.pulls[0]?.end();
    expect(await second.pull).toMatchObject({ image: IMAGE });
    expect(engine.pulls).toHaveLength(1);
  });

  it('pull in the place of one that gives up', async () => {
    const leader = await sharing().join('["app"]', silent(), signal);
    if (leader.kind !== 'led') throw new Error('not the first');
    const pull = agent().pull('app', [], signal);
    expect(await names()).toHaveLength(1);
    await leader.end('given up');
    await pullsOf(1);
    engine.pulls[0]?.end();
    expect(await pull).toMatchObject({ image: IMAGE });
  });

  it('pull in the place of one that is killed', async () => {
    await mkdir(join(folder, 'pulls'));
    const holder = sharing();
    const led = await holder.join('["app"]', silent(), signal);
    const [name = ''] = await names();
    if (led.kind === 'led') await led.end('given up');
    const program = `require('node:net').createServer(() => console.log('joined')).listen(process.argv[1], () => console.log('ready'))`;
    const child = spawn(process.execPath, ['-e', program, join(folder, 'pulls', name)]);
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await expect.poll(() => said).toContain('ready');
    const pull = agent().pull('app', [], signal);
    await expect.poll(() => said).toContain('joined');
    expect(engine.pulls).toEqual([]);
    child.kill('SIGKILL');
    await pullsOf(1);
    engine.pulls[0]?.end();
    expect(await pull).toMatchObject({ image: IMAGE });
    expect(await names()).toEqual([]);
  });

  it('pull each for itself when they do not understand each other', async () => {
    await mkdir(join(folder, 'pulls'));
    const led = await sharing().join('["app"]', silent(), signal);
    const [name = ''] = await names();
    if (led.kind === 'led') await led.end('given up');
    const server = createServer((socket) => socket.end('null\n'));
    await new Promise<void>((resolve) => server.listen(join(folder, 'pulls', name), resolve));
    const pull = agent().pull('app', [], signal);
    await pullsOf(1);
    engine.pulls[0]?.end();
    expect(await pull).toMatchObject({ image: IMAGE });
    expect(warnings).toHaveLength(1);
    server.close();
  });

  it('do not wait for one that is stuck', async () => {
    await mkdir(join(folder, 'pulls'));
    const led = await sharing().join('["app"]', silent(), signal);
    const [name = ''] = await names();
    if (led.kind === 'led') await led.end('given up');
    const server = createServer(() => undefined);
    await new Promise<void>((resolve) => server.listen(join(folder, 'pulls', name), resolve));
    const pull = agent().pull('app', [], signal);
    await expect
      .poll(async () => {
        await clock.advance(150_000);
        return engine.pulls.length;
      })
      .toBe(1);
    engine.pulls[0]?.end();
    expect(await pull).toMatchObject({ image: IMAGE });
    server.close();
  });

  it('wait for one whose engine is silent, while it verifies and extracts the layers', async () => {
    const first = agent().pull('app', [], signal);
    await pullsOf(1);
    const second = await follow(agent());
    for (let passedMs = 0; passedMs < 600_000; passedMs += 10_000) {
      const before = second.heard.length;
      await clock.advance(10_000);
      if (passedMs % 30_000 === 20_000) await expect.poll(() => second.heard.length).toBeGreaterThan(before);
    }
    expect(new Set(second.heard)).toEqual(new Set([7]));
    expect(engine.pulls).toHaveLength(1);
    engine.pulls[0]?.end();
    expect(await Promise.all([first, second.pull])).toMatchObject([{ image: IMAGE }, { image: IMAGE }]);
    expect(clock.nextTimerMs(), 'nothing is repeated after the end').toBeUndefined();
  });

  it('wait for one whose engine has not reported anything', async () => {
    const led = await sharing().join('["app"]', silent(), signal);
    const heard: unknown[] = [];
    const pull = agent().pull('app', [], signal, (progress) => void heard.push(progress));
    await expect
      .poll(async () => {
        await clock.advance(1000);
        return heard;
      })
      .toContainEqual({ bytes: 0, totalBytes: 1 });
    engine.has = true;
    if (led.kind === 'led') await led.end({ kind: 'pulled', tookMs: 1 });
    expect(await pull).toMatchObject({ image: IMAGE });
    expect(engine.pulls).toEqual([]);
  });

  it('end a pull whose socket cannot be removed: it succeeds, and none waits for it', async () => {
    const first = agent().pull('app', [], signal);
    await pullsOf(1);
    const second = await follow(agent());
    const [name = ''] = await names();
    await rename(join(folder, 'pulls', name), join(folder, 'moved'));
    await mkdir(join(folder, 'pulls', name));
    engine.pulls[0]?.end();
    expect(await Promise.all([first, second.pull])).toMatchObject([{ image: IMAGE }, { image: IMAGE }]);
    expect(warnings).toEqual(['cannot remove the socket of a shared pull']);
    const refused = Promise.withResolvers<string | undefined>();
    const socket = connect(join(folder, 'moved'), () => refused.resolve(undefined));
    socket.on('error', ({ code }: NodeJS.ErrnoException) => refused.resolve(code));
    expect(await refused.promise).toBe('ECONNREFUSED');
    socket.destroy();
  });

  it('pull each for itself where they cannot share a folder, and say so', async () => {
    await writeFile(join(folder, 'pulls'), '');
    const pulls = [agent().pull('app', [], signal), agent().pull('app', [], signal)];
    await pullsOf(2);
    for (const { end } of engine.pulls) end();
    await Promise.all(pulls);
    expect(warnings).toHaveLength(2);
  });
});

function silent(): PullAudience {
  return { report: () => undefined, arrive: () => undefined, leave: () => undefined };
}
