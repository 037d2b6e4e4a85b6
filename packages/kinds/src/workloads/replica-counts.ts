import { type FieldError, invalid } from '@gantry/objects';
import { nonNegative } from '@gantry/apimachinery';

interface Counts {
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly fullyLabeledReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly unavailableReplicas?: number;
  readonly terminatingReplicas?: number;
  readonly collisionCount?: number;
}

const FIELDS = [
  'observedGeneration',
  'replicas',
  'updatedReplicas',
  'fullyLabeledReplicas',
  'readyReplicas',
  'availableReplicas',
  'unavailableReplicas',
  'terminatingReplicas',
  'collisionCount',
] as const;
const PARTS = ['updatedReplicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'] as const;

/** Checks the counts in the status of kinds with replicas: not negative, and no part larger than the total. */
export function validateReplicaCounts(status: Counts | undefined, old: Counts | undefined): FieldError[] {
  const counts = status ?? {};
  const errors = FIELDS.flatMap((field) => nonNegative(`status.${field}`, counts[field]));
  for (const field of PARTS) {
    const value = counts[field] ?? 0;
    if (value > (counts.replicas ?? 0)) {
      errors.push(invalid(`status.${field}`, value, 'cannot be greater than status.replicas'));
    }
  }
  const available = counts.availableReplicas ?? 0;
  if (available > (counts.readyReplicas ?? 0)) {
    errors.push(invalid('status.availableReplicas', available, 'cannot be greater than readyReplicas'));
  }
  if (isDecremented(counts.collisionCount, old?.collisionCount)) {
    errors.push(invalid('status.collisionCount', counts.collisionCount ?? 0, 'cannot be decremented'));
  }
  return errors;
}

/** Whether a count has decreased or been removed. */
export function isDecremented(count: number | undefined, before: number | undefined): boolean {
  return before !== undefined && (count === undefined || count < before);
}
