import { HOSTNAME_LABEL } from '../well-known.ts';
import type { PersistentVolume } from '../generated/types.ts';
import { PROVISIONED_BY } from './volume-binding.ts';

/** The provisioner of folders on nodes, with the name that users know. */
export const LOCAL_PATH = 'rancher.io/local-path';
/** The path of volume folders in PersistentVolumes. Each agent keeps them in its state volume. */
const VOLUMES_FOLDER = '/var/lib/gantry/volumes';
/** On volumes: the node that has the folder. */
export const VOLUME_NODE_LABEL = HOSTNAME_LABEL;

/** The path of the folder with this name. */
export function localPathOf(folder: string): string {
  return `${VOLUMES_FOLDER}/${folder}`;
}

/** The folder name of a volume, one path component; undefined for other volumes. */
export function localFolderOf({ spec }: PersistentVolume): string | undefined {
  const path = spec?.local?.path ?? spec?.hostPath?.path ?? '';
  if (!path.startsWith(`${VOLUMES_FOLDER}/`)) return undefined;
  const folder = path.slice(VOLUMES_FOLDER.length + 1).replace(/\/+$/, '');
  const isComponent = folder !== '' && folder !== '.' && folder !== '..' && !/[/\0]/.test(folder);
  return isComponent ? folder : undefined;
}

/** Whether a path is inside the agents' folder for volumes, which is not a host path. */
export function isInVolumesFolder(path: string): boolean {
  return `${path.replaceAll(/\/+/g, '/')}/`.startsWith(`${VOLUMES_FOLDER}/`);
}

/** Whether an agent of the node has to delete the volume and its folder: it was provisioned for a claim that no longer exists. */
export function isForDeletionOn({ metadata, spec, status }: PersistentVolume, node: string): boolean {
  return (
    metadata.annotations?.[PROVISIONED_BY] === LOCAL_PATH &&
    metadata.labels?.[VOLUME_NODE_LABEL] === node &&
    spec?.persistentVolumeReclaimPolicy === 'Delete' &&
    (status?.phase === 'Released' || status?.phase === 'Failed')
  );
}
