import type { PersistentVolume, PersistentVolumeClaim, Pod } from '@gantry/objects';

/** One write of a whole object or status. Each depends on the ones before it; a rejected one ends the plan. */
export type Write =
  | { readonly kind: 'updateVolume' | 'updateVolumeStatus'; readonly volume: PersistentVolume }
  | { readonly kind: 'updateClaim' | 'updateClaimStatus'; readonly claim: PersistentVolumeClaim };

export type Action =
  | Write
  | { readonly kind: 'deleteVolume'; readonly volume: PersistentVolume }
  /** The pod that empties a volume. */
  | { readonly kind: 'createRecycler'; readonly volume: PersistentVolume; readonly pod: Pod }
  | { readonly kind: 'deleteRecycler'; readonly pod: Pod }
  /** The next attempt to empty the volume is not made at once. */
  | { readonly kind: 'delayRecycler'; readonly volume: PersistentVolume }
  /** The volume has been emptied. */
  | { readonly kind: 'forgetRecycler'; readonly volume: PersistentVolume }
  /** An Event, after what is before it has been written. */
  | {
      readonly kind: 'event';
      readonly about: PersistentVolume | PersistentVolumeClaim;
      readonly type: 'Normal' | 'Warning';
      readonly reason: string;
      readonly message: string;
    };

/** An Event about a volume or claim. */
export function eventAbout(
  about: PersistentVolume | PersistentVolumeClaim,
  type: 'Normal' | 'Warning',
  reason: string,
  message: string,
): Action {
  return { kind: 'event', about, type, reason, message };
}
