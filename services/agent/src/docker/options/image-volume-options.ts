import { posix } from 'node:path';
import type Docker from 'dockerode';
import { IMAGE_HOLD_NAME, LABEL } from '../../runtime/labels.ts';
import { containerName, podLabels, withoutLabels } from './identity.ts';
import { LOG_CONFIG } from './resources.ts';
import type { ImageFilesSpec, ImageVolumeSpec } from '../../runtime/images.ts';

/** The pod for which a container is made that is none of its own. */
type Helper = Pick<ImageVolumeSpec, 'owner' | 'pod' | 'graceSeconds'>;

/** Where the container that mounts has what it mounts. */
const LAYERS = '/layers';
const EMPTY = ['/empty/upper', '/empty/lower'];
/** Where it mounts: the volume's folder. */
export const MOUNT_POINT = '/volume';

/**
 * `ro`: without an upper layer the file system itself is read-only, for privileged containers too. The engine mounts it in containers as it
 * is: if it were told to make it read-only, it would take the other flags away. `nofollow`: images have no redirects; one that has is not
 * followed.
 */
const FLAGS = ['ro', 'nosuid', 'nodev', 'redirect_dir=nofollow'];

/** A container of the image that is never started: as long as it exists, the engine keeps the image. Nothing of the image is run. */
export function holdOptions(spec: ImageVolumeSpec, declared: readonly string[]): Docker.ContainerCreateOptions {
  return neverStarted(spec, `HOLD-${spec.volume}`, declared);
}

/** A container of the image that is never started, from which files are read. */
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
    // An image of files alone has no command; the engine wants one.
    Entrypoint: ['/'],
    Cmd: [],
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: 'none',
      RestartPolicy: { Name: 'no' },
      LogConfig: LOG_CONFIG,
      // In place of the volumes that the image declares: the engine would copy the image's files to them.
      Mounts: foldersOf(declared).map((path) => ({ Type: 'tmpfs' as const, Target: path, Source: '' })),
    },
  };
}

/** A container of the sandbox image, in whose mount namespace the layers are mounted as one folder; `layers` from the top to the bottom. */
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
 * Of mount(8): the list of layers is one option. The system calls that it prefers from util-linux 2.39 on take 256 characters of it, some 20
 * layers; mount(2) takes a page.
 */
export const MOUNT_ENVIRONMENT = 'LIBMOUNT_FORCE_MOUNT2=always';

/** Options of mount(8) in that container. The kernel wants two lower folders, and an image may have no layer at all. */
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
    // No container of a pod has upper-case letters in its name.
    name: containerName(pod, name, 0),
    Healthcheck: { Test: ['NONE'] },
    Labels: {
      ...withoutLabels(imageLabels),
      ...podLabels(owner, pod, graceSeconds),
      [LABEL.containerName]: IMAGE_HOLD_NAME,
    },
  };
}

/** The declared volumes that a mount can take the place of; the engine refuses an image with others by itself, or ignores them. */
function foldersOf(declared: readonly string[]): readonly string[] {
  const paths = declared.filter((path) => path.startsWith('/')).map((path) => posix.resolve(path));
  return [...new Set(paths)].filter((path) => path !== '/');
}
