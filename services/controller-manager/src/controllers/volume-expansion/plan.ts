import type { Plan } from '@gantry/base';
import { compareQuantity, parseQuantity, type PersistentVolume, type PersistentVolumeClaim } from '@gantry/objects';

export interface Action {
  readonly kind: 'report';
  readonly reason: 'ExternalExpanding';
  readonly message: string;
}

/** Reports that a bound claim with a larger request than capacity waits for its volume's controller, as Kubernetes does. */
export function planExpansionReport(claim: PersistentVolumeClaim, volume: PersistentVolume | undefined): Plan<Action> {
  if (claim.status?.phase !== 'Bound' || !isBoundTo(claim, volume)) return { actions: [] };
  if (compare(requestOf(claim), capacityOf(claim)) <= 0) return { actions: [] };
  const message = 'waiting for an external controller to expand this PVC';
  return { actions: [{ kind: 'report', reason: 'ExternalExpanding', message }] };
}

/** Whether a claim's request or capacity has grown. */
export function growsClaim(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): boolean {
  return compare(requestOf(claim), requestOf(old)) > 0 || compare(capacityOf(claim), capacityOf(old)) > 0;
}

function isBoundTo({ metadata }: PersistentVolumeClaim, volume: PersistentVolume | undefined): boolean {
  const { namespace, uid } = volume?.spec?.claimRef ?? {};
  return uid !== undefined && uid === metadata.uid && namespace === metadata.namespace;
}

function requestOf({ spec }: PersistentVolumeClaim): string {
  return spec?.resources?.requests?.['storage'] ?? '0';
}

function capacityOf({ status }: PersistentVolumeClaim): string {
  return status?.capacity?.['storage'] ?? '0';
}

function compare(a: string, b: string): number {
  return compareQuantity(parseQuantity(a), parseQuantity(b));
}
