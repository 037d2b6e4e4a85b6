import type { Plan } from '@gantry/base';
import type { PersistentVolumeClaim, Pod } from '@gantry/objects';

export type Action =
  | { readonly kind: 'createClaim'; readonly volume: string; readonly claim: PersistentVolumeClaim }
  /** Another claim has the name. */
  | { readonly kind: 'refuse'; readonly volume: string; readonly message: string };

/** Whether a pod has ephemeral volumes, which need claims. */
export function hasEphemeralVolumes({ spec }: Pod): boolean {
  return spec?.volumes?.some(({ ephemeral }) => ephemeral !== undefined) === true;
}

/** Creates the claims of a pod's ephemeral volumes. The pod owns them, so they are deleted with it. */
export function planEphemeralVolumes(
  pod: Pod,
  claimNamed: (name: string) => PersistentVolumeClaim | undefined,
): Plan<Action> {
  if (pod.metadata.deletionTimestamp !== undefined) return { actions: [] };
  const { namespace = '', name: podName = '', uid = '' } = pod.metadata;
  const actions = (pod.spec?.volumes ?? []).flatMap(({ name: volume, ephemeral }): readonly Action[] => {
    if (ephemeral === undefined) return [];
    const name = `${podName}-${volume}`;
    const existing = claimNamed(name);
    if (existing !== undefined) {
      const isOwned = existing.metadata.ownerReferences?.some(
        (owner) => owner.uid === uid && owner.controller === true,
      );
      const message = `PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`;
      return isOwned === true ? [] : [{ kind: 'refuse', volume, message }];
    }
    const { metadata: { annotations, labels } = {}, spec } = ephemeral.volumeClaimTemplate ?? { spec: {} };
    const owner = { apiVersion: 'v1', kind: 'Pod', name: podName, uid, controller: true, blockOwnerDeletion: true };
    const metadata = { namespace, name, ownerReferences: [owner], annotations, labels };
    return [
      { kind: 'createClaim', volume, claim: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec } },
    ];
  });
  return { actions };
}
