import type { ResourceDefinition } from '@gantry/apimachinery';
import { csiDrivers } from './csi-driver.ts';
import { csiNodes } from './csi-node.ts';
import { csiStorageCapacities } from './csi-storage-capacity.ts';
import { storageClasses } from './storage-class.ts';
import { volumeAttachments } from './volume-attachment.ts';
import { volumeAttributesClasses } from './volume-attributes-class.ts';

/** The kinds of `storage.k8s.io`, in discovery's order. */
export const storageKinds: readonly ResourceDefinition[] = [
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  storageClasses,
  volumeAttachments,
  volumeAttributesClasses,
];
