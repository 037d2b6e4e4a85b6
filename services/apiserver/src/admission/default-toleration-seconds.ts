import { NOT_READY_TAINT, type Pod, type Toleration, UNREACHABLE_TAINT } from '@gantry/objects';
import type { AdmissionCheck } from './check/admission-check.ts';

const TAINTS = [NOT_READY_TAINT, UNREACHABLE_TAINT];

/** Adds tolerations for `seconds` for not-ready and unreachable nodes to pods that have none. */
export function defaultTolerationSeconds(seconds: number): AdmissionCheck {
  return {
    name: 'DefaultTolerationSeconds',
    mutate: ({ operation, definition, subresource, object }) => {
      if (operation === 'delete' || definition.resource !== 'pods' || definition.group !== '' || subresource !== '')
        return;
      const pod = object as Pod;
      if (pod.spec === undefined || pod.spec === null) return;
      const tolerations = pod.spec.tolerations ?? [];
      const missing = TAINTS.filter((key) => !tolerations.some((toleration) => tolerates(toleration, key)));
      if (missing.length === 0) return;
      const added = missing.map(
        (key): Toleration => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: seconds }),
      );
      pod.spec.tolerations = [...tolerations, ...added];
    },
  };
}

function tolerates(toleration: Toleration, key: string): boolean {
  const anyKey = toleration.key === undefined || toleration.key === '';
  const anyEffect = toleration.effect === undefined || toleration.effect === '';
  return (anyKey || toleration.key === key) && (anyEffect || toleration.effect === 'NoExecute');
}
