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

/** The storage driver whose layers are folders that the kernel can mount as one. */
const DRIVER = 'overlay2';
/** Of Kubernetes' runtimes (k8s.io/cri-api, errors). */
const FAILED = 'ImageVolumeMountFailed';
const MOUNT_MS = 30_000;

/**
 * Images as folders: their layers, as the engine has unpacked them, are mounted as one file system. The layers are visible on the engine's
 * host alone. So the engine makes a container that has them and the volume's folder, and mount(8) mounts in its mount namespace; from
 * there the mount propagates to the host. No file of the image is opened or run. Needs CAP_SYS_ADMIN, CAP_SYS_CHROOT and CAP_SYS_PTRACE.
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

/** The folders of an image's layers on the engine's host, from the top to the bottom. */
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

/** Makes the container that holds the image, unless an earlier call has. */
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
  // The name of the image has got another one since.
  came(await createAnew(calls, options, signal));
}

/** Mounts in the mount namespace of a container, which exists for that alone. */
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
