import { type AdmissionCheck, isCore } from './check/admission-check.ts';

const CLAIM = 'kubernetes.io/pvc-protection';
const VOLUME = 'kubernetes.io/pv-protection';
const ATTRIBUTES = 'kubernetes.io/vac-protection';

/** Adds the finalizer that keeps volumes, claims and volume attributes classes while they are in use; controllers remove it. */
export const storageObjectInUse: AdmissionCheck = {
  name: 'StorageObjectInUseProtection',
  mutate: (request) => {
    const { operation, definition, subresource, object } = request;
    if (operation !== 'create') return;
    const isAttributes =
      definition.group === 'storage.k8s.io' && definition.resource === 'volumeattributesclasses' && subresource === '';
    const finalizer = isCore(request, 'persistentvolumeclaims')
      ? CLAIM
      : isCore(request, 'persistentvolumes')
        ? VOLUME
        : isAttributes
          ? ATTRIBUTES
          : undefined;
    if (finalizer === undefined || object.metadata.finalizers?.includes(finalizer) === true) return;
    object.metadata.finalizers = [...(object.metadata.finalizers ?? []), finalizer];
  },
};
