import { compareAmounts } from '@gantry/kinds';
import { classOfClaim, type KubeObject, type PersistentVolumeClaim, STORAGE_CLASSES } from '@gantry/objects';
import { type AdmissionCheck, isCore } from './check/admission-check.ts';
import { refuse } from './check/refuse.ts';

const UNBOUND = 'Only bound persistent volume claims can be expanded';
const UNSUPPORTED =
  'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize';

/** Rejects the growth of a claim unless it is bound and its storage class allows volume expansion. */
export const claimResize: AdmissionCheck = {
  name: 'PersistentVolumeClaimResize',
  validate: async (request, reader) => {
    if (request.operation !== 'update' || !isCore(request, 'persistentvolumeclaims')) return;
    const claim: PersistentVolumeClaim = request.object;
    const old: PersistentVolumeClaim | undefined = request.old;
    if (old === undefined || compareAmounts(sizeOf(claim), sizeOf(old)) <= 0) return;
    if (old.status?.phase !== 'Bound') throw refuse(request, UNBOUND);
    const name = classOfClaim(claim);
    const found =
      name === '' || name !== classOfClaim(old)
        ? undefined
        : await reader.find<KubeObject & { allowVolumeExpansion?: boolean }>(STORAGE_CLASSES, '', name);
    if (found?.allowVolumeExpansion !== true) throw refuse(request, UNSUPPORTED);
  },
};

function sizeOf({ spec }: PersistentVolumeClaim): string {
  return spec?.resources?.requests?.['storage'] ?? '0';
}
