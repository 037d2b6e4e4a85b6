import type { Taint, Toleration } from './generated/types.ts';

export type TaintEffect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';

/** The first taint with one of these effects that no toleration tolerates, as Kubernetes' FindMatchingUntoleratedTaint does. */
export function findUntoleratedTaint(
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
  effects: readonly TaintEffect[],
): Taint | undefined {
  return taints?.find((taint) => effects.some((effect) => effect === taint.effect) && !isTolerated(taint, tolerations));
}

/** Whether any of the tolerations tolerates the taint. */
export function isTolerated(taint: Taint, tolerations: readonly Toleration[] | undefined): boolean {
  return (tolerations ?? []).some((toleration) => toleratesTaint(toleration, taint));
}

/**
 * Whether a toleration tolerates a taint, as Kubernetes' ToleratesTaint decides: an empty effect or key matches all; an empty key only with
 * the operator Exists.
 */
export function toleratesTaint(
  { effect = '', key = '', operator = 'Equal', value = '' }: Toleration,
  taint: Taint,
): boolean {
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  switch (operator) {
    case 'Exists':
      return true;
    case '':
    case 'Equal':
      return key !== '' && value === (taint.value ?? '');
    case 'Lt':
    case 'Gt':
      return compareNumbers(taint.value ?? '', value, operator);
    default:
      return false;
  }
}

function compareNumbers(taint: string, toleration: string, operator: 'Lt' | 'Gt'): boolean {
  const whole = /^-?\d+$/;
  if (!whole.test(taint) || !whole.test(toleration)) return false;
  return operator === 'Lt' ? BigInt(taint) < BigInt(toleration) : BigInt(taint) > BigInt(toleration);
}
