import { expect, it } from 'vitest';
import { must } from '@gantry/base';
import { isAgentError } from '../agent-error.ts';
import type { Runtime } from '../runtime.ts';
import { plainImageVolume } from './plain-specs.ts';
import type { ImageVolumeSpec } from '../images.ts';

/** The parts of a runtime under test that the contract of image volumes needs. */
interface ImageVolumesUnderTest {
  readonly runtime: () => Runtime;
  readonly cluster: () => string;
  /** An image, and a second one, which sandboxes use. */
  readonly images: () => readonly [string, string];
  readonly makeFolder: () => Promise<string>;
}

const signal = new AbortController().signal;

/** The contract of images as volumes. */
export function describeImageVolumes({ runtime, cluster, images, makeFolder }: ImageVolumesUnderTest): void {
  const spec = async (change: Partial<ImageVolumeSpec> = {}) => {
    const [name, other] = images();
    const image = must(await runtime().images.inspectImage(name, signal), 'an image');
    const sandboxImage = must(await runtime().images.inspectImage(other, signal), 'an image of sandboxes');
    const owner = { cluster: cluster(), node: 'node-a' };
    const pod = { uid: 'pod-1', namespace: 'default', name: 'web' };
    return plainImageVolume({
      owner,
      pod,
      graceSeconds: 7,
      image,
      sandboxImage,
      hostFolder: await makeFolder(),
      ...change,
    });
  };
  const list = async () => (await runtime().observer.listPods({ cluster: cluster(), podUid: 'pod-1' }, signal))[0];

  it('keeps the image of a volume until its hold is removed, and lists it as nothing else of the pod', async () => {
    const { imageVolumes, containers, images } = runtime();
    const first = await spec();
    await imageVolumes.mountImage(first, signal);
    await imageVolumes.mountImage(await spec({ volume: 'other' }), signal);
    const state = await list();
    expect(state).toMatchObject({ owner: first.owner, identity: first.pod, graceSeconds: 7 });
    expect([state?.sandboxes, state?.containers, state?.imageHolds.length]).toEqual([[], [], 2]);
    expect((await images.usedImages(signal)).has(first.image.id)).toBe(true);
    for (const id of state?.imageHolds ?? []) await containers.removeContainer(id, signal);
    expect(await list()).toBeUndefined();
  });

  it('has one hold for each volume, however often and with whatever image it is mounted', async () => {
    const { imageVolumes } = runtime();
    const before = await spec();
    await imageVolumes.mountImage(before, signal);
    await imageVolumes.mountImage({ ...before, hostFolder: await makeFolder() }, signal);
    expect((await list())?.imageHolds).toHaveLength(1);
    await imageVolumes.mountImage({ ...before, image: before.sandboxImage, hostFolder: await makeFolder() }, signal);
    expect((await list())?.imageHolds).toHaveLength(1);
  });

  it('fails where the image does not exist', async () => {
    const image = { id: `sha256:${'0'.repeat(64)}`, labels: [] };
    await expect(runtime().imageVolumes.mountImage(await spec({ image }), signal)).rejects.toSatisfy((error) =>
      isAgentError(error, 'ImageNotFound'),
    );
  });
}
