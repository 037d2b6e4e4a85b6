import type { FileHandle } from 'node:fs/promises';
import type Docker from 'dockerode';
import { AgentError } from '../runtime/agent-error.ts';
import { fromDocker } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';
import {
  createAnew,
  createNamed,
  declaredVolumes,
  type InspectedImage,
  inspectById,
  removeHelper,
} from './helper-containers.ts';
import {
  holdOptions,
  MOUNT_ENVIRONMENT,
  MOUNT_POINT,
  mounterOptions,
  overlayOptions,
} from './options/image-volume-options.ts';
import type { ContainerIndex } from './container-index.ts';
import { NAMESPACE_PATH, openNamespace, runWithNamespace } from './process-namespace.ts';
import type { ImageVolumeRuntime, ImageVolumeSpec } from '../runtime/images.ts';

/** The storage driver whose layers are folders that the kernel can mount together. */
const DRIVER = 'overlay2';
/** The error name of Kubernetes' runtimes (k8s.io/cri-api, errors). */
const FAILED = 'ImageVolumeMountFailed';
const MOUNT_MS = 30_000;

/**
 * Mounts images as folders: the unpacked layers of an image are mounted as one overlay. The layers are visible only on the engine's host.
 * So the engine creates a container with the layers and the volume's folder, and mount(8) runs in the container's mount namespace; the
 * mount propagates to the host. No file of the image is opened or run. Needs CAP_SYS_ADMIN, CAP_SYS_CHROOT and CAP_SYS_PTRACE.
 */
export function dockerImageVolumes(calls: EngineCalls, containers: Pick<ContainerIndex, 'came'>): ImageVolumeRuntime {
  return {
    mountImage: async (spec, signal) => {
      const image = await inspectById(calls, spec.image.id, signal);
      try {
        const layers = layersOf(image);
        await hold(calls, containers, spec, declaredVolumes(image), signal);
        await mountIn(calls, mounterOptions(spec, layers), overlayOptions(layers.length), signal);
      } catch (error) {
        signal.throwIfAborted();
        const { message } = fromDocker(error, 'CreateContainerError');
        throw new AgentError('CreateContainerError', `${FAILED}: ${message}`, { cause: error });
      }
    },
  };
}

/** The folders of an image's layers on the engine's host, top layer first. */
function layersOf({ GraphDriver: driver }: InspectedImage): readonly string[] {
  if (driver?.Name !== DRIVER) {
    const name = driver?.Name ?? 'another one';
    throw new AgentError(
      'CreateContainerError',
      `this node mounts images only of engines with the storage driver ${DRIVER}; its engine has ${name}`,
    );
  }
  const { UpperDir: top = '', LowerDir: others = '' } = driver.Data ?? {};
  return [top, ...others.split(':')].filter((folder) => folder !== '');
}

/** Creates the image hold, unless an earlier call has. */
async function hold(
  calls: EngineCalls,
  containers: Pick<ContainerIndex, 'came'>,
  spec: ImageVolumeSpec,
  declared: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const options = holdOptions(spec, declared);
  const came = (id: string) => containers.came({ id, labels: options.Labels ?? {} });
  const created = await createNamed(calls, options, signal);
  if (created !== undefined) {
    came(created);
    return;
  }
  const { name = '' } = options;
  const { Image: held } = await calls.read(signal, (docker, abortSignal) =>
    docker.getContainer(name).inspect({ abortSignal }),
  );
  if (held === spec.image.id) return;
  // The image's name has changed to another image since.
  came(await createAnew(calls, options, signal));
}

/** Mounts in the mount namespace of a container that is created only for this. */
async function mountIn(
  calls: EngineCalls,
  options: Docker.ContainerCreateOptions,
  overlay: string,
  signal: AbortSignal,
): Promise<void> {
  const id = await createAnew(calls, options, signal);
  try {
    await calls.change(signal, (docker, abortSignal) => docker.getContainer(id).start({ abortSignal }));
    const { State: state } = await calls.read(signal, (docker, abortSignal) =>
      docker.getContainer(id).inspect({ abortSignal }),
    );
    await using namespace = await openNamespace({ id, pid: state.Pid }, 'mnt');
    if (namespace === undefined) throw new AgentError('CreateContainerError', 'the container that mounts has ended');
    await mountOverlay(namespace, overlay);
  } finally {
    await removeHelper(calls, id, new AbortController().signal);
  }
}

async function mountOverlay(namespace: FileHandle, options: string): Promise<void> {
  const mount = ['mount', '--no-canonicalize', '--namespace', NAMESPACE_PATH, '-t', 'overlay', '-o', options];
  const { code, output } = await runWithNamespace(namespace, {
    command: ['env', MOUNT_ENVIRONMENT, ...mount, 'overlay', MOUNT_POINT],
    timeoutMs: MOUNT_MS,
  });
  if (code !== 0) throw new AgentError('CreateContainerError', `mount failed: ${output}`);
}
