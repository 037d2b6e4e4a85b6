import { type KubeObject, type PersistentVolumeClaim, STORAGE_CLASSES } from '@gantry/objects';
import { type AdmissionCheck, isCore } from './check/admission-check.ts';
import { newestDefault } from './default-class.ts';

const DEFAULT = ['storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class'];
const OLD_CLASS = 'volume.beta.kubernetes.io/storage-class';

/** A new claim that says nothing about its class gets the default one, if there is one. */
export const defaultStorageClass: AdmissionCheck = {
  name: 'DefaultStorageClass',
  mutate: async (request, reader) => {
    if (request.operation !== 'create' || !isCore(request, 'persistentvolumeclaims')) return;
    const claim = request.object as PersistentVolumeClaim;
    if (claim.spec === undefined || claim.spec.storageClassName !== undefined) return;
    if (claim.metadata.annotations?.[OLD_CLASS] !== undefined) return;
    const found = newestDefault(await reader.list<KubeObject>(STORAGE_CLASSES, ''), DEFAULT);
    if (found?.metadata.name !== undefined) claim.spec.storageClassName = found.metadata.name;
  },
};
