import { expect, it } from 'vitest';
import { must } from '@gantry/base';
import { isAgentError } from '../agent-error.ts';
import type { Runtime } from '../runtime.ts';
import type { ImageFilesSpec } from '../images.ts';

/** The parts of a runtime under test that the contract of image files needs. */
interface ImageFilesUnderTest {
  readonly runtime: () => Runtime;
  readonly cluster: () => string;
  readonly image: () => string;
  /** The path and the text of a file in that image. */
  readonly file: () => readonly [string, string];
}

const signal = new AbortController().signal;

/** The contract of reading the files of images. */
export function describeImageFiles({ runtime, cluster, image, file }: ImageFilesUnderTest): void {
  const spec = async (change: Partial<ImageFilesSpec> = {}): Promise<ImageFilesSpec> => {
    const found = must(await runtime().images.inspectImage(image(), signal), 'an image');
    const owner = { cluster: cluster(), node: 'node-a' };
    const pod = { uid: 'pod-1', namespace: 'default', name: 'web' };
    const read = { paths: [file()[0]], maxBytes: 2 ** 20, graceSeconds: 7 };
    return { owner, pod, container: 'main', image: found, ...read, ...change };
  };

  it('reads those files of an image that it has, and leaves nothing of the pod behind', async () => {
    const [path, text] = file();
    const { imageFiles, observer } = runtime();
    const found = await imageFiles.readImageFiles(await spec({ paths: [path, '/no/such/file'] }), signal);
    expect([...found].map(([name, content]) => [name, Buffer.from(content).toString()])).toEqual([[path, text]]);
    expect(await observer.listPods({ cluster: cluster() }, signal)).toEqual([]);
  });

  it('refuses a file of an image that is too large, and an image that does not exist', async () => {
    const large = runtime().imageFiles.readImageFiles(await spec({ maxBytes: 3 }), signal);
    await expect(large).rejects.toMatchObject({
      code: 'CreateContainerError',
      message: `cannot read ${file()[0]} of the image: it is larger than 3 bytes`,
    });
    const missing = { id: `sha256:${'0'.repeat(64)}`, labels: [] };
    await expect(runtime().imageFiles.readImageFiles(await spec({ image: missing }), signal)).rejects.toSatisfy(
      (error) => isAgentError(error, 'ImageNotFound'),
    );
  });
}
