import {
  DEFAULT_STORAGE_CLASS_MARKS,
  type KubeObject,
  type PersistentVolumeClaim,
  STORAGE_CLASS_ANNOTATION,
  STORAGE_CLASSES,
} from '@gantry/objects';
import { type AdmissionCheck, isCore } from './check/admission-check.ts';
import { newestDefault } from './default-class.ts';

/** A new claim that says nothing about its class gets the default one, if there is one. */
export const defaultStorageClass: AdmissionCheck = {
  name: 'DefaultStorageClass',
  mutate: async (request, reader) => {
    if (request.operation !== 'create' || !isCore(request, 'persistentvolumeclaims')) return;
    const claim = request.object as PersistentVolumeClaim;
    if (claim.spec === undefined || claim.spec.storageClassName !== undefined) return;
    if (claim.metadata.annotations?.[STORAGE_CLASS_ANNOTATION] !== undefined) return;
    const found = newestDefault(await reader.list<KubeObject>(STORAGE_CLASSES, ''), DEFAULT_STORAGE_CLASS_MARKS);
    if (found?.metadata.name !== undefined) claim.spec.storageClassName = found.metadata.name;
  },
};
