import { posix } from 'node:path';
import type { HostPathVolumeSource } from '@gantry/objects';
import { AgentError } from '../../runtime/agent-error.ts';
import type { HostFileKind, HostFiles } from '../../runtime/host-files.ts';
import { defineVolumeType } from './volume-type.ts';

type TypeRule = readonly [
  kind: HostFileKind,
  title: string,
  create?: (files: HostFiles, path: string) => Promise<void>,
];

/** What must be at the path, by the volume's `type`: pkg/volume/hostpath. */
const TYPES: Readonly<Record<string, TypeRule>> = {
  DirectoryOrCreate: ['folder', 'directory', (files, path) => files.makeFolder(path)],
  Directory: ['folder', 'directory'],
  FileOrCreate: ['file', 'file', (files, path) => files.makeFile(path)],
  File: ['file', 'file'],
  Socket: ['socket', 'socket file'],
  CharDevice: ['character-device', 'character device'],
  BlockDevice: ['block-device', 'block device'],
};

/** A file or folder of the engine's host, by its path there. AgentError 'FailedMount' where it is not of the volume's type. */
export const hostPathVolume = defineVolumeType(
  'hostPath',
  { access: 'read-write', storage: 'host' },
  async (source, { hostFiles }) => {
    const path = pathOnHost(source);
    if (source.path.split('/').includes('..')) {
      throw new AgentError('FailedMount', `invalid HostPath \`${source.path}\`: must not contain '..'`);
    }
    const { type = '' } = source;
    if (type === '') {
      // As container runtimes do.
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
  },
);

/** The absolute path that the engine mounts. */
export function pathOnHost({ path }: HostPathVolumeSource): string {
  return posix.join('/', path);
}
