import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AgentError } from '../runtime/agent-error.ts';
import type { ImageRuntime, RegistryCredential } from '../runtime/images.ts';
import { unsharedPulls } from './host-pulls.ts';
import { ImagePuller } from './image-puller.ts';
import type { PullCredential } from './keyring.ts';
import { PulledImages } from './pulled-images.ts';

const IMAGE = { id: 'sha256:1', sizeBytes: 1, digests: [], user: '', labels: [] };
const user = (username: string): PullCredential => ({
  username,
  password: 'p',
  hash: username,
  secret: { uid: username, namespace: 'default', name: username },
});

describe('pulls', () => {
  let folder: string;
  let tried: string[];
  let answers: Record<string, Promise<void>>;
  let puller: ImagePuller;
  let pulled: PulledImages;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gantry-images-'));
    [tried, answers] = [[], {}];
    const images: Pick<ImageRuntime, 'inspectImage' | 'pullImage'> = {
      inspectImage: async () => IMAGE,
      pullImage: (_reference, credential: RegistryCredential | 'anonymous', signal, report) => {
        report?.({ bytes: 1, totalBytes: 4 });
        const name = credential === 'anonymous' ? credential : credential.username;
        tried.push(name);
        const aborted = Promise.withResolvers<never>();
        const onAbort = () => {
          tried.push(`${name} aborted`);
          aborted.reject(new Error('aborted'));
        };
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort);
        const answer = answers[name] ?? Promise.reject(new AgentError('ErrImagePull', `no ${name}`));
        return Promise.race([aborted.promise, answer]).finally(() => signal.removeEventListener('abort', onAbort));
      },
    };
    pulled = new PulledImages(folder, 'n');
    puller = new ImagePuller({ images, records: pulled, sharing: unsharedPulls, clock: new ManualClock() });
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('try one credential after the other, and remember the one that was right', async () => {
    answers['b'] = Promise.resolve();
    const { image } = await puller.pull('app', [user('a'), user('b'), user('c')], new AbortController().signal);
    expect(image).toBe(IMAGE);
    expect(tried).toEqual(['a', 'b']);
    expect(await pulled.recordsOf('sha256:1')).toMatchObject([{ reference: 'app', access: { hash: 'b' } }]);
  });

  it('report their progress to each pod that waits', async () => {
    answers['anonymous'] = Promise.resolve();
    const { signal } = new AbortController();
    const heard: number[] = [];
    const first = puller.pull('app', [], signal, ({ bytes }) => void heard.push(bytes));
    const second = puller.pull('app', [], signal, ({ totalBytes }) => void heard.push(totalBytes));
    await Promise.all([first, second]);
    expect(heard).toEqual([1, 4]);
  });

  it('that no pod waits for any more are joined by none', async () => {
    const given = Promise.withResolvers<void>();
    answers['a'] = given.promise;
    const abort = new AbortController();
    const first = puller.pull('app', [user('a')], abort.signal);
    abort.abort('pod deleted');
    await expect(first).rejects.toBe('pod deleted');
    const second = puller.pull('app', [user('a')], new AbortController().signal);
    given.resolve();
    expect((await second).image).toBe(IMAGE);
  });

  it('fail with the answer to each credential, and leave no intent', async () => {
    const { signal } = new AbortController();
    await expect(puller.pull('app', [user('a'), user('b')], signal)).rejects.toThrow('[no a, no b]');
    await expect(puller.pull('app', [], signal)).rejects.toThrow(/^no anonymous$/);
    expect(await pulled.mayUse('sha256:1', 'app', async () => [])).toBe(true);
  });

  it('of the same image with the same credentials are one, which lasts as long as a pod waits for it', async () => {
    const answer = Promise.withResolvers<void>();
    answers['anonymous'] = answer.promise;
    const [first, second] = [new AbortController(), new AbortController()];
    const one = puller.pull('app', [], first.signal);
    const other = puller.pull('app', [], second.signal);
    const third = puller.pull('app', [user('a')], second.signal);
    await expect(third).rejects.toThrow('no a');
    first.abort(new Error('left'));
    await expect(one).rejects.toThrow('left');
    answer.resolve();
    await other;
    expect(tried.toSorted()).toEqual(['a', 'anonymous']);
  });

  it('end when no pod waits for them any more', async () => {
    answers['anonymous'] = new Promise(() => undefined);
    const only = new AbortController();
    const pull = puller.pull('app', [], only.signal);
    const failed = expect(pull).rejects.toThrow('left');
    while (tried.length === 0) await new Promise((resolve) => setImmediate(resolve));
    only.abort(new Error('left'));
    await failed;
    expect(tried).toEqual(['anonymous', 'anonymous aborted']);
    expect(await pulled.mayUse('sha256:1', 'app', async () => []), 'it may have brought the image').toBe(false);
    const refused = puller.pull('app', [user('a')], new AbortController().signal);
    await expect(refused).rejects.toThrow('no a');
    expect(await pulled.mayUse('sha256:1', 'app', async () => []), 'a refusal gives no access').toBe(false);
    answers['anonymous'] = Promise.resolve();
    expect(await puller.pull('app', [], new AbortController().signal)).toMatchObject({ image: IMAGE });
    expect(await pulled.isPulling(), 'the images of the host can be collected').toBe(false);
  });
});
