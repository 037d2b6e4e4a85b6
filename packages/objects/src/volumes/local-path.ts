import { HOSTNAME_LABEL } from '../well-known.ts';
import type { PersistentVolume } from '../generated/types.ts';
import { PROVISIONED_BY } from './volume-binding.ts';

/** The provisioner of folders on nodes, under the name by which users know it. */
export const LOCAL_PATH = 'rancher.io/local-path';
/** Where the folders of volumes are, as PersistentVolumes name them. Each agent keeps them in its state volume. */
const VOLUMES_FOLDER = '/var/lib/gantry/volumes';
/** On volumes: the node that has the folder. */
export const VOLUME_NODE_LABEL = HOSTNAME_LABEL;

/** The path of the folder with this name. */
export function localPathOf(folder: string): string {
  return `${VOLUMES_FOLDER}/${folder}`;
}

/** The name of the folder that a volume stands for, one component of a path; undefined for a volume of another kind or place. */
export function localFolderOf({ spec }: PersistentVolume): string | undefined {
  const path = spec?.local?.path ?? spec?.hostPath?.path ?? '';
  if (!path.startsWith(`${VOLUMES_FOLDER}/`)) return undefined;
  const folder = path.slice(VOLUMES_FOLDER.length + 1).replace(/\/+$/, '');
  const isComponent = folder !== '' && folder !== '.' && folder !== '..' && !/[/\0]/.test(folder);
  return isComponent ? folder : undefined;
}

/** Whether a path is one of the agents' folder for volumes, which is no path of a host. */
export function isInVolumesFolder(path: string): boolean {
  return `${path.replaceAll(/\/+/g, '/')}/`.startsWith(`${VOLUMES_FOLDER}/`);
}

/** Whether an agent of the node is to delete the volume with its folder: it was made for a claim that is gone. */
export function isForDeletionOn({ metadata, spec, status }: PersistentVolume, node: string): boolean {
  return (
    metadata.annotations?.[PROVISIONED_BY] === LOCAL_PATH &&
    metadata.labels?.[VOLUME_NODE_LABEL] === node &&
    spec?.persistentVolumeReclaimPolicy === 'Delete' &&
    (status?.phase === 'Released' || status?.phase === 'Failed')
  );
}
