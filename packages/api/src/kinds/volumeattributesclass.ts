import { type FieldError, forbidden } from '../field-error.ts';
import type { VolumeAttributesClass } from '../generated/types.ts';
import { equalJson } from '../object.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { validateParameters, validateProvisioner } from './rules/storage-drivers.ts';
import { STORED_VERBS } from './verbs.ts';

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

export const volumeAttributesClasses: ResourceDefinition<VolumeAttributesClass> = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'VolumeAttributesClass',
  resource: 'volumeattributesclasses',
  singular: 'volumeattributesclass',
  shortNames: ['vac'],
  categories: [],
  namespaced: false,
  schema: 'storage.v1.VolumeAttributesClass',
  verbs: STORED_VERBS,
  strategy: { validate, validateUpdate, updateRules: 'before' },
  subresources: [],
  columns: [
    nameColumn,
    column('DriverName', 'The driver that knows the parameters.', (object) => object.driverName),
    ageColumn,
  ],
  selectableFields: {},
  stored: true,
};
