import { posix } from 'node:path';
import type { HostPathVolumeSource, LocalVolumeSource, PersistentVolume, Pod, Volume } from '@gantry/objects';
import { AgentError } from '../../runtime/agent-error.ts';
import type { HostFileKind, HostFiles } from '../../runtime/host-files.ts';
import { defineVolumeType } from './volume-type.ts';
import { allContainersOf } from '../../spec/pod-containers.ts';

type TypeRule = readonly [
  kind: HostFileKind,
  title: string,
  create?: (files: HostFiles, path: string) => Promise<void>,
];

/** The required file type for each `type` of the volume, as in the kubelet's pkg/volume/hostpath. */
const TYPES: Readonly<Record<string, TypeRule>> = {
  DirectoryOrCreate: ['folder', 'directory', (files, path) => files.makeFolder(path)],
  Directory: ['folder', 'directory'],
  FileOrCreate: ['file', 'file', (files, path) => files.makeFile(path)],
  File: ['file', 'file'],
  Socket: ['socket', 'socket file'],
  CharDevice: ['character-device', 'character device'],
  BlockDevice: ['block-device', 'block device'],
};

/** A file or folder of the engine's host, by its path on the host. */
export const hostPathVolume = defineVolumeType(
  'hostPath',
  { access: 'read-write', storage: 'host' },
  async (source, { hostFiles }) => checkHostPath(source, hostFiles),
);

/** Creates the file or folder if the volume's type asks for it. AgentError 'FailedMount' when the path is not of that type. */
export async function checkHostPath(source: HostPathVolumeSource, hostFiles: HostFiles): Promise<void> {
  const path = pathOnHost(source);
  if (hasBackstep(source.path)) {
    throw new AgentError('FailedMount', `invalid HostPath \`${source.path}\`: must not contain '..'`);
  }
  const { type = '' } = source;
  if (type === '') {
    // Container runtimes create a missing folder, too.
    if ((await hostFiles.kindOf(path)) === undefined) await hostFiles.makeFolder(path);
    return;
  }
  const rule = TYPES[type];
  if (rule === undefined) throw new AgentError('FailedMount', `${type} is an invalid volume type`);
  const [wanted, title, create] = rule;
  const found = await hostFiles.kindOf(path);
  if (found === undefined && create !== undefined) await create(hostFiles, path);
  else if (found !== wanted) {
    throw new AgentError('FailedMount', `hostPath type check failed: ${source.path} is not a ${title}`);
  }
}

/**
 * The kind of a local volume, as in the kubelet's pkg/volume/local: a folder, or a block device with a file system. AgentError
 * 'FailedMount' for anything else.
 */
export async function localKindOf(
  source: LocalVolumeSource,
  hostFiles: HostFiles,
): Promise<Extract<HostFileKind, 'folder' | 'block-device'>> {
  const { path } = source;
  if (hasBackstep(path)) throw new AgentError('FailedMount', `invalid path: ${path} must not contain '..'`);
  const kind = await hostFiles.kindOf(pathOnHost(source));
  if (kind === 'folder' || kind === 'block-device') return kind;
  if (kind !== undefined) throw new AgentError('FailedMount', 'only directory and block device are supported');
  throw new AgentError('FailedMount', `path ${JSON.stringify(path)} does not exist`);
}

/** AgentError 'FailedMapVolume' unless the local volume is a block device of the engine's host. */
export async function checkDevicePath(source: LocalVolumeSource, hostFiles: HostFiles): Promise<void> {
  const { path } = source;
  if (hasBackstep(path)) throw new AgentError('FailedMapVolume', `invalid path: ${path} must not contain '..'`);
  switch (await hostFiles.kindOf(pathOnHost(source))) {
    case 'block-device':
      return;
    case undefined:
      throw new AgentError('FailedMapVolume', `lstat ${path}: no such file or directory`);
    default:
      throw new AgentError('FailedMapVolume', `${path} is not a block device`);
  }
}

/** The absolute path that the engine mounts. */
export function pathOnHost({ path }: { readonly path: string }): string {
  return posix.join('/', path);
}

function hasBackstep(path: string): boolean {
  return path.split('/').includes('..');
}

/** AgentError 'FailedMount' with the kubelet's message when containers use a volume in another way than its mode allows. */
export function checkVolumeMode(pod: Pod, { name }: Volume, { spec }: PersistentVolume): void {
  const mode = spec?.volumeMode ?? 'Filesystem';
  const containers = allContainersOf(pod).map(({ container }) => container);
  const isUsedAs = (field: 'volumeMounts' | 'volumeDevices') =>
    containers.some((container) => container[field]?.some((use) => use.name === name));
  const wrong = mode === 'Block' ? 'volumeMounts' : 'volumeDevices';
  if (isUsedAs(wrong))
    throw new AgentError('FailedMount', `volume ${name} has volumeMode ${mode}, but is specified in ${wrong}`);
}
