import { posix } from 'node:path';
import type Docker from 'dockerode';
import { IMAGE_HOLD_NAME, LABEL } from '../../runtime/labels.ts';
import { containerName, podLabels, withoutLabels } from './identity.ts';
import { LOG_CONFIG } from './resources.ts';
import type { ImageFilesSpec, ImageVolumeSpec } from '../../runtime/images.ts';

/** The pod for which a helper container is created. */
type Helper = Pick<ImageVolumeSpec, 'owner' | 'pod' | 'graceSeconds'>;

/** Paths in the mounter container: the layers, and two empty folders. */
const LAYERS = '/layers';
const EMPTY = ['/empty/upper', '/empty/lower'];
/** The path of the volume's folder in the mounter container. */
export const MOUNT_POINT = '/volume';

/**
 * `ro`: the overlay without upper layer is read-only, even for privileged containers. The engine must not be asked for read-only, since
 * it would clear the other flags. `nofollow`: images should have no redirects, and a redirect in an image is not followed.
 */
const FLAGS = ['ro', 'nosuid', 'nodev', 'redirect_dir=nofollow'];

/**
 * An image hold: a container of the image that is never started. The engine keeps the image as long as the container exists. Nothing of
 * the image is run.
 */
export function holdOptions(spec: ImageVolumeSpec, declared: readonly string[]): Docker.ContainerCreateOptions {
  return neverStarted(spec, `HOLD-${spec.volume}`, declared);
}

/** A container of the image that is never started; files of the image are read from it. */
export function imageFilesOptions(spec: ImageFilesSpec, declared: readonly string[]): Docker.ContainerCreateOptions {
  return neverStarted(spec, `FILES-${spec.container}`, declared);
}

function neverStarted(
  spec: Helper & Pick<ImageVolumeSpec, 'image'>,
  name: string,
  declared: readonly string[],
): Docker.ContainerCreateOptions {
  return {
    ...identity(spec, name, spec.image.labels),
    Image: spec.image.id,
    // The engine requires a command, but an image that only contains files has none.
    Entrypoint: ['/'],
    Cmd: [],
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: 'none',
      RestartPolicy: { Name: 'no' },
      LogConfig: LOG_CONFIG,
      // Replaces the volumes that the image declares; otherwise the engine would copy the image's files into new volumes.
      Mounts: foldersOf(declared).map((path) => ({ Type: 'tmpfs' as const, Target: path, Source: '' })),
    },
  };
}

/** A container of the sandbox image. The layers are mounted as one folder in its mount namespace. `layers` begins with the top layer. */
export function mounterOptions(spec: ImageVolumeSpec, layers: readonly string[]): Docker.ContainerCreateOptions {
  const bind = (Source: string, Target: string, options: Partial<Docker.MountSettings>): Docker.MountSettings => ({
    Type: 'bind',
    Source,
    Target,
    ...options,
  });
  return {
    ...identity(spec, `MOUNT-${spec.volume}`, spec.sandboxImage.labels),
    Image: spec.sandboxImage.id,
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: 'none',
      IpcMode: 'none',
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      PidsLimit: 16,
      RestartPolicy: { Name: 'no' },
      LogConfig: LOG_CONFIG,
      Mounts: [
        ...layers.map((layer, index) => bind(layer, layerPath(index), { ReadOnly: true })),
        bind(spec.hostFolder, MOUNT_POINT, { BindOptions: { Propagation: 'rshared' } }),
      ],
      Tmpfs: Object.fromEntries(EMPTY.map((path) => [path, 'size=4k,mode=755'])),
    },
  };
}

/**
 * Environment for mount(8). All layers are listed in one option. The system calls that util-linux prefers from 2.39 on limit an option to
 * 256 characters, about 20 layers; mount(2) accepts a page.
 */
export const MOUNT_ENVIRONMENT = 'LIBMOUNT_FORCE_MOUNT2=always';

/** Options for mount(8) in that container. The kernel requires two lower folders, and an image may have no layer at all. */
export function overlayOptions(layers: number): string {
  const lower = [...Array.from({ length: layers }, (_, index) => layerPath(index)), ...EMPTY];
  return [...FLAGS, `lowerdir=${lower.join(':')}`].join(',');
}

function layerPath(index: number): string {
  return `${LAYERS}/${index}`;
}

function identity(
  { owner, pod, graceSeconds }: Helper,
  name: string,
  imageLabels: readonly string[],
): Pick<Docker.ContainerCreateOptions, 'name' | 'Labels' | 'Healthcheck'> {
  return {
    // Unique, because container names of pods contain no upper-case letters.
    name: containerName(pod, name, 0),
    Healthcheck: { Test: ['NONE'] },
    Labels: {
      ...withoutLabels(imageLabels),
      ...podLabels({ owner, pod, graceSeconds }),
      [LABEL.containerName]: IMAGE_HOLD_NAME,
    },
  };
}

/** The declared volumes that a mount can replace. For others, the engine refuses the image itself or ignores them. */
function foldersOf(declared: readonly string[]): readonly string[] {
  const paths = declared.filter((path) => path.startsWith('/')).map((path) => posix.resolve(path));
  return [...new Set(paths)].filter((path) => path !== '/');
}
