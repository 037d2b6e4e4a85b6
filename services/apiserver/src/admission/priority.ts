import { type Pod, StatusError } from '@gantry/api';
import type { AdmissionCheck } from './admission-check.ts';

const SYSTEM: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};

/** Gives a new pod the number of its priority class; without a class it is 0. */
export const priority: AdmissionCheck = {
  name: 'Priority',
  mutate: ({ operation, definition, subresource, object, name }) => {
    if (operation !== 'create' || definition.resource !== 'pods' || definition.group !== '' || subresource !== '')
      return;
    const pod = object as Pod;
    if (pod.spec === undefined || pod.spec === null) return;
    const className = pod.spec.priorityClassName ?? '';
    const value = className === '' ? 0 : SYSTEM[className];
    if (value === undefined) {
      throw StatusError.forbidden(
        { group: '', resource: 'pods' },
        name,
        `no PriorityClass with name ${className} was found`,
      );
    }
    if (pod.spec.priority !== undefined && pod.spec.priority !== value) {
      throw StatusError.forbidden(
        { group: '', resource: 'pods' },
        name,
        `the integer value of priority (${pod.spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`,
      );
    }
    pod.spec.priority = value;
    pod.spec.preemptionPolicy ??= 'PreemptLowerPriority';
  },
};
