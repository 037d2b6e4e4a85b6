import {
  type FieldError,
  VOLUME_ATTRIBUTES_CLASSES,
  type VolumeAttributesClass,
  equalJson,
  forbidden,
} from '@gantry/objects';
import { describedAs, ageColumn, column, defineResource, nameColumn } from '@gantry/apimachinery';
import { validateParameters, validateProvisioner } from './drivers.ts';

function validate({ driverName, parameters }: VolumeAttributesClass): FieldError[] {
  return [...validateProvisioner(driverName, 'driverName'), ...validateParameters(parameters, 'parameters', 'some')];
}

function validateUpdate(object: VolumeAttributesClass, old: VolumeAttributesClass): FieldError[] {
  const errors: FieldError[] = [];
  if (object.driverName !== old.driverName) {
    errors.push(forbidden('driverName', 'updates to driverName are forbidden.'));
  }
  if (!equalJson(object.parameters, old.parameters)) {
    errors.push(forbidden('parameters', 'updates to parameters are forbidden.'));
  }
  return errors;
}

export const volumeAttributesClasses = defineResource(VOLUME_ATTRIBUTES_CLASSES, {
  shortNames: ['vac'],
  schema: 'storage.v1.VolumeAttributesClass',
  strategy: { validate, validateUpdate, updateRules: 'before' },
  columns: [
    nameColumn,
    column('DriverName', describedAs('storage.v1.VolumeAttributesClass', 'driverName'), (object) => object.driverName),
    ageColumn,
  ],
});
