import { type Container, type Secret, SECRETS } from '@gantry/objects';
import { expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { startNode, type NodeOptions } from '../testing/start-node.ts';
import { ensureImage, pullEvents } from './ensure-image.ts';
import { ManualClock } from '@gantry/base/testing';

const { signal } = new AbortController();
const PRIVATE = 'quay.io/team/app:1';

/** Starts a node with a registry that has `PRIVATE` behind a login. */
async function node(options: NodeOptions = {}) {
  const { services, clock, client } = await startNode({
    behaviour: { login: (reference) => (reference === PRIVATE ? 'me:sesame' : undefined) },
    registry: { [PRIVATE]: { id: 'sha256:2', sizeBytes: 7, digests: [], user: '', labels: [] } },
    ...options,
  });
  const auths = { 'quay.io/team': { username: 'me', password: 'sesame' } };
  const data = { '.dockerconfigjson': Buffer.from(JSON.stringify({ auths })).toString('base64') };
  await client.put<Secret>(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'default', name: 'keys' },
    type: 'kubernetes.io/dockerconfigjson',
    data,
  });
  const ensure = async (change: Partial<Container>, secrets: readonly string[] = []) => {
    const events: string[] = [];
    const { puller, pulled, config, runtime } = services;
    const context = {
      pod: pod({ imagePullSecrets: secrets.map((name) => ({ name })) }),
      images: runtime.images,
      puller,
      pulled,
      config,
      clock,
      record: (...event: [string, string, string]) => void events.push(event.join(' ')),
    };
    const outcome = await ensureImage(container('main', change), context, signal).then(
      ({ id }) => id,
      (error: Error) => error.message,
    );
    return { outcome, events };
  };
  return { ensure };
}

it('an image behind a login is pulled with the Secret of the pod, and used by no pod without it', async () => {
  const { ensure } = await node();
  const image = { image: PRIVATE };
  expect(await ensure(image)).toMatchObject({
    outcome: `failed to pull and unpack image "${PRIVATE}": pull access denied for ${PRIVATE}`,
  });
  expect(await ensure(image, ['keys'])).toEqual({
    outcome: 'sha256:2',
    events: [
      `Normal Pulling Pulling image "${PRIVATE}"`,
      `Normal Pulled Successfully pulled image "${PRIVATE}" in 0ms (0ms including waiting). Image size: 7 bytes.`,
    ],
  });
  const present = `Normal Pulled Container image "${PRIVATE}" already present on machine and can be accessed by the pod`;
  expect((await ensure(image, ['keys'])).events).toEqual([present]);
  expect((await ensure(image)).outcome).toContain('pull access denied');
  const never = await ensure({ ...image, imagePullPolicy: 'Never' });
  expect(never.outcome).toBe(`Container image "${PRIVATE}" is not present with pull policy of Never`);
});

it('a Secret that is missing is reported, and the others are tried', async () => {
  const { ensure } = await node();
  const { outcome, events } = await ensure({ image: PRIVATE }, ['gone', 'keys', 'lost']);
  expect(outcome).toBe('sha256:2');
  expect(events).toContain(
    'Warning FailedToRetrieveImagePullSecret Unable to retrieve some image pull secrets (gone, lost); attempting to pull the image may not succeed.',
  );
});

it('an image that is not there and never pulled says which of its repository are', async () => {
  const { ensure } = await node();
  const never = (image: string) => ensure({ image, imagePullPolicy: 'Never' });
  const absent = (image: string) => `Container image "${image}" is not present with pull policy of Never`;
  expect(await never('nginx:2')).toEqual({
    outcome: `${absent('nginx:2')}; this machine has nginx:1.27`,
    events: [`Warning ErrImageNeverPull ${absent('nginx:2')}`],
  });
  expect((await never('none')).outcome).toBe(`${absent('none')}; this machine has no image of that repository`);
  expect((await never('nginx:1.27')).outcome).toBe('sha256:1');
  // The pod does not see names that it could not pull.
  await ensure({ image: PRIVATE }, ['keys']);
  expect((await never('quay.io/team/app:2')).outcome).toContain('no image of that repository');
  const own = await ensure({ image: 'quay.io/team/app:2', imagePullPolicy: 'Never' }, ['keys']);
  expect(own.outcome).toContain(`; this machine has ${PRIVATE}`);
});

it('a name that no image can have is refused before anything is asked', async () => {
  const { ensure } = await node();
  const { outcome, events } = await ensure({ image: 'NO image' });
  expect(outcome).toContain('couldn\'t parse image name "NO image": invalid reference format');
  expect(events).toEqual([`Warning InspectFailed ${outcome}`]);
});

it('a long pull has at most one Event for each quarter, and ten seconds between two', async () => {
  const clock = new ManualClock();
  const events: string[] = [];
  const report = pullEvents('app:1', (...event) => void events.push(event.join(' ')), clock);
  const at = async (seconds: number, percent: number) => {
    await clock.advance(seconds * 1000 - clock.monotonicMs() + began);
    report({ bytes: percent * 10, totalBytes: 1000 });
  };
  const began = clock.monotonicMs();
  await at(1, 30);
  expect(events).toEqual([]);
  await at(10, 31);
  await at(11, 60);
  // The download of another layer has started.
  await at(21, 20);
  expect(events).toEqual(['Normal Pulling Pulling image "app:1": 25% of the 1000 bytes known so far']);
  await at(30, 99);
  await at(60, 99);
  await at(90, 100);
  expect(events.slice(1)).toEqual(['Normal Pulling Pulling image "app:1": 75% of the 1000 bytes known so far']);
});
