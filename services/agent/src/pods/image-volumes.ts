import { type Container, type Pod, type Volume } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { ImagePuller } from '../images/image-puller.ts';
import type { Owner } from '../runtime/labels.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { graceSecondsOf } from '../spec/pod-containers.ts';
import { ensureImage, type EnsureImageContext } from './ensure-image.ts';
import type { PodVolumes } from '../volumes/pod-volumes.ts';
import type { ImageInfo } from '../runtime/images.ts';

/** Dependencies for mounting an image. */
interface ImageVolumeServices {
  readonly owner: Owner;
  readonly runtime: Pick<Runtime, 'images' | 'imageVolumes'>;
  readonly volumes: Pick<PodVolumes, 'imageFolder'>;
  readonly puller: Pick<ImagePuller, 'pull'>;
  /** The image's name. */
  readonly sandboxImage: string;
}

/**
 * Mounts images as volumes of pods. An image is pulled and its name resolved once in a pod's lifetime. As Kubernetes documents, a
 * recreated pod gets the image that the name means then.
 */
export class ImageVolumes {
  /** Running mounts by pod uid and volume name. Containers of a pod start at the same time and may share a volume. */
  readonly #underWay = new Map<string, Promise<void>>();

  /** Mounts the image volumes of a container. AgentErrors of `ensureImage`, and 'CreateContainerError'. */
  async mount(
    pod: Pod,
    container: Container,
    context: EnsureImageContext,
    services: ImageVolumeServices,
    signal: AbortSignal,
  ): Promise<void> {
    const names = new Set(container.volumeMounts?.map(({ name }) => name));
    for (const volume of pod.spec?.volumes ?? []) {
      if (volume.image === undefined || !names.has(volume.name)) continue;
      const key = `${pod.metadata.uid ?? ''}/${volume.name}`;
      const known = this.#underWay.get(key);
      const mounted = known ?? this.#mountOne(pod, volume, context, services, signal);
      if (known === undefined) this.#underWay.set(key, mounted);
      try {
        await mounted;
      } finally {
        if (this.#underWay.get(key) === mounted) this.#underWay.delete(key);
      }
    }
  }

  async #mountOne(
    pod: Pod,
    { name, image: { reference = '', pullPolicy } = {} }: Volume,
    context: EnsureImageContext,
    services: ImageVolumeServices,
    signal: AbortSignal,
  ): Promise<void> {
    const { volumes, runtime, owner } = services;
    const folder = await volumes.imageFolder(pod, name);
    if (folder.state === 'mounted') return;
    const wanted = { name, image: reference, imagePullPolicy: pullPolicy };
    const image = await ensureImage(wanted, context, signal);
    const { uid = '', namespace = '', name: podName = '' } = pod.metadata;
    const identity = { uid, namespace, name: podName };
    const spec = { owner, pod: identity, graceSeconds: graceSecondsOf(pod), volume: name, hostFolder: folder.hostPath };
    await runtime.imageVolumes.mountImage(
      { ...spec, image, sandboxImage: await sandboxImage(services, signal) },
      signal,
    );
    // Without this check, a container could get the files under the mount.
    if ((await volumes.imageFolder(pod, name)).state === 'mounted') return;
    throw new AgentError('CreateContainerError', `the image of volume "${name}" did not appear in its folder`);
  }
}

/** Dependencies for finding the sandbox image. */
interface SandboxImageServices {
  readonly runtime: Pick<Runtime, 'images'>;
  readonly puller: Pick<ImagePuller, 'pull'>;
  readonly sandboxImage: string;
}

/** The sandbox image. If the engine does not have it, it is pulled once for all pods that need it at the same time. */
export async function sandboxImage(
  { runtime, puller, sandboxImage: name }: SandboxImageServices,
  signal: AbortSignal,
): Promise<ImageInfo> {
  const present = await runtime.images.inspectImage(name, signal);
  return present ?? (await puller.pull(name, [], signal)).image;
}
