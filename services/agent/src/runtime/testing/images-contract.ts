import { expect, it } from 'vitest';
import { isAgentError } from '../agent-error.ts';
import type { ContainerSpec } from '../containers.ts';
import type { Runtime } from '../runtime.ts';
import { SCRIPTS } from './streams-contract.ts';

/** The parts of a runtime under test that the contract of images needs. */
interface ImagesUnderTest {
  readonly runtime: () => Runtime;
  /** An image that the runtime has. */
  readonly image: () => string;
  /** Creates another image like it, with this name. */
  readonly makeImage: (reference: string) => Promise<void>;
  /** Runs a container with a shell script. */
  readonly run: (script: string, change?: Partial<ContainerSpec>) => Promise<{ readonly id: string }>;
}

const signal = new AbortController().signal;

/** The contract of a runtime's images. */
export function describeImages({ runtime, image, makeImage, run }: ImagesUnderTest): void {
  it('lists its images with their names, and pulls none that no registry has', async () => {
    const found = await runtime().images.inspectImage(image(), signal);
    const listed = await runtime().images.listImages(signal);
    const names = listed.find(({ id }) => id === found?.id)?.names ?? [];
    expect(names.some((name) => name === image() || name === `${image()}:latest`)).toBe(true);
    expect(listed.every((image) => image.names.length > 0)).toBe(true);
    const login = { username: 'gantry', password: 'sesame' };
    for (const credential of ['anonymous', login] as const) {
      await expect(runtime().images.pullImage('127.0.0.1:1/none:1', credential, signal)).rejects.toSatisfy(
        (error: unknown) => isAgentError(error, 'ErrImagePull') && !error.message.includes('sesame'),
      );
    }
  });

  it('finds an image by its names, and by no part of its id', async () => {
    const { id = '' } = (await runtime().images.inspectImage(image(), signal)) ?? {};
    const digits = id.replace('sha256:', '');
    for (const reference of [digits, digits.slice(0, 12), `sha256:${digits}`]) {
      expect(await runtime().images.inspectImage(reference, signal)).toBeUndefined();
    }
  });

  it('fails with ImageNotFound for a missing image', async () => {
    expect(await runtime().images.inspectImage('gantry.test/none:1', signal)).toBeUndefined();
    const create = run(SCRIPTS.idle, { image: 'gantry.test/none:1' });
    await expect(create).rejects.toSatisfy((error) => isAgentError(error, 'ImageNotFound'));
  });

  it('removes the names of an image, and with the last one the image, unless a container uses it', async () => {
    const { images, containers } = runtime();
    const [one, other] = ['gantry.test/contract:1', 'gantry.test/contract:2'];
    await makeImage(one);
    await makeImage(other);
    const made = await images.inspectImage(one, signal);
    const { id } = await run(SCRIPTS.idle, { image: one });
    const used = await images.usedImages(signal);
    expect(used.has(made?.id ?? '')).toBe(true);
    expect(used.has((await images.inspectImage(other, signal))?.id ?? '')).toBe(false);
    await expect(images.removeImage(one, signal)).rejects.toSatisfy((error) => isAgentError(error, 'Runtime'));
    expect(await images.inspectImage(one, signal)).toBeDefined();
    await containers.removeContainer(id, signal);
    for (let time = 0; time < 2; time++) await images.removeImage(one, signal);
    expect(await images.inspectImage(one, signal)).toBeUndefined();
    expect(await images.inspectImage(other, signal)).toBeDefined();
    expect((await images.listImages(signal)).map(({ names }) => names)).toContainEqual([other]);
  });
}
