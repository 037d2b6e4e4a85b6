import type { Taint, Toleration } from '@gantry/api';
import { type FilterPlugin, nodePasses } from '../plugin.ts';

/** Without the taint's name, as Kubernetes has it since 1.35: nodes with different taints count together. */
const REASON = ['node(s) had untolerated taint(s)'];

const filter: FilterPlugin['filter'] = ({ pod }, { node }) => {
  const taints = node.spec?.taints ?? [];
  const tolerated = taints.every(
    (taint) => taint.effect === 'PreferNoSchedule' || tolerates(pod.spec?.tolerations, taint),
  );
  return tolerated ? [] : REASON;
};

/** Nodes whose NoSchedule and NoExecute taints the pod tolerates. */
export const taintToleration: FilterPlugin = { name: 'TaintToleration', filter, helps: nodePasses(filter) };

/** Whether any of the tolerations covers the taint. */
export function tolerates(tolerations: readonly Toleration[] | undefined, taint: Taint): boolean {
  return (tolerations ?? []).some((toleration) => covers(toleration, taint));
}

function covers({ effect = '', key = '', operator = 'Equal', value = '' }: Toleration, taint: Taint): boolean {
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
