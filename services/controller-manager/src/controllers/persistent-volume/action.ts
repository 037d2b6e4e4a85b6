import type { PersistentVolume, PersistentVolumeClaim, Pod } from '@gantry/objects';

/** One write of a whole object or status. Each depends on the previous ones; a rejected write ends the plan. */
export type Write =
  | { readonly kind: 'updateVolume' | 'updateVolumeStatus'; readonly volume: PersistentVolume }
  | { readonly kind: 'updateClaim' | 'updateClaimStatus'; readonly claim: PersistentVolumeClaim };

export type Action =
  | Write
  | { readonly kind: 'deleteVolume'; readonly volume: PersistentVolume }
  /** Creates the pod that empties a volume. */
  | { readonly kind: 'createRecycler'; readonly volume: PersistentVolume; readonly pod: Pod }
  | { readonly kind: 'deleteRecycler'; readonly pod: Pod }
  /** Delays the next attempt to empty the volume. */
  | { readonly kind: 'delayRecycler'; readonly volume: PersistentVolume }
  /** The volume has been emptied. */
  | { readonly kind: 'forgetRecycler'; readonly volume: PersistentVolume }
  /** An Event, recorded after the previous actions have been written. */
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
