import { ATTRIBUTES_PROTECTION, CLAIM_PROTECTION, VOLUME_PROTECTION } from '@gantry/objects';
import { type AdmissionCheck, isCore } from './check/admission-check.ts';

/** Adds the finalizer that keeps volumes, claims and VolumeAttributesClasses while they are in use. Controllers remove it. */
export const storageObjectInUse: AdmissionCheck = {
  name: 'StorageObjectInUseProtection',
  mutate: (request) => {
    const { operation, definition, subresource, object } = request;
    if (operation !== 'create') return;
    const isAttributes =
      definition.group === 'storage.k8s.io' && definition.resource === 'volumeattributesclasses' && subresource === '';
    const finalizer = isCore(request, 'persistentvolumeclaims')
      ? CLAIM_PROTECTION
      : isCore(request, 'persistentvolumes')
        ? VOLUME_PROTECTION
        : isAttributes
          ? ATTRIBUTES_PROTECTION
          : undefined;
    if (finalizer === undefined || object.metadata.finalizers?.includes(finalizer) === true) return;
    object.metadata.finalizers = [...(object.metadata.finalizers ?? []), finalizer];
  },
};
