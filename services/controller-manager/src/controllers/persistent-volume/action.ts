import type { PersistentVolume, PersistentVolumeClaim } from '@gantry/objects';

/** One write of a whole object or status. Each depends on the ones before it; a rejected one ends the plan. */
export type Write =
  | { readonly kind: 'updateVolume' | 'updateVolumeStatus'; readonly volume: PersistentVolume }
  | { readonly kind: 'updateClaim' | 'updateClaimStatus'; readonly claim: PersistentVolumeClaim };

export type Action =
  | Write
  | { readonly kind: 'deleteVolume'; readonly volume: PersistentVolume }
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
