import {
  type FieldError,
  type IPAddress,
  IP_ADDRESSES,
  dns1123Subdomain,
  pathSegment,
  required,
} from '@gantry/objects';
import { ageColumn, column, defineResource, immutable, invalidAll, nameColumn } from '@gantry/apimachinery';
import { validateCanonicalIp } from '../fields/ip.ts';
import { validateSegment } from '../fields/references.ts';

function validate({ spec }: IPAddress): FieldError[] {
  const path = 'spec.parentRef';
  if (spec?.parentRef === undefined) return [required(path)];
  const { group = '', resource, name, namespace = '' } = spec.parentRef;
  return [
    ...(group === '' ? [] : invalidAll(`${path}.group`, group, dns1123Subdomain(group))),
    ...validateSegment(resource, `${path}.resource`),
    ...validateSegment(name, `${path}.name`),
    ...(namespace === '' ? [] : invalidAll(`${path}.namespace`, namespace, pathSegment(namespace, false))),
  ];
}

function parent({ spec }: IPAddress): string {
  if (spec?.parentRef === undefined) return '<none>';
  const { group = '', resource, namespace = '', name } = spec.parentRef;
  const kind = (group === '' ? resource : `${resource}.${group}`).toLowerCase();
  return namespace === '' ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;
}

export const ipAddresses = defineResource(IP_ADDRESSES, {
  shortNames: ['ip'],
  schema: 'networking.v1.IPAddress',
  strategy: {
    validateName: (name) => validateCanonicalIp(name, '').map(({ detail }) => detail),
    validate,
    validateUpdate: (object, old) => immutable('spec.parentRef', object.spec?.parentRef, old.spec?.parentRef),
  },
  columns: [
    nameColumn,
    column(
      'ParentRef',
      'ParentRef references the resource that an IPAddress is attached to. An IPAddress must reference a parent object.',
      parent,
    ),
    ageColumn,
  ],
});
