import type { FieldError, KubeObject } from '@gantry/objects';
import { PART_VERBS } from '@gantry/apimachinery';
import { restoreField } from './restore-field.ts';

/** The status of a kind as most have it: a change of it leaves the spec as it is stored. */
export function statusSubresource<T extends KubeObject & { spec?: unknown }>(
  validateUpdate?: (object: T, old: T) => readonly FieldError[],
) {
  return {
    name: 'status',
    verbs: PART_VERBS,
    prepareForUpdate: (object: T, old: T) => {
      restoreField(object, old, 'spec');
    },
    ...(validateUpdate === undefined ? {} : { validateUpdate }),
  };
}

/** Puts the spec back to what is stored; an object always has one then. */
export function keepSpec<S extends object>(object: { spec?: S }, old: { spec?: S }): void {
  object.spec = { ...old.spec } as S;
}
