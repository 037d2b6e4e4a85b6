import { type FieldError, required } from '../field-error.ts';
import type { IPAddress } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { immutable, invalidAll } from './rules/errors.ts';
import { validateCanonicalIp } from './rules/ip.ts';
import { dns1123Subdomain, pathSegment } from './rules/names.ts';
import { validateSegment } from './rules/references.ts';
import { STORED_VERBS } from './verbs.ts';

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

export const ipAddresses: ResourceDefinition<IPAddress> = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'IPAddress',
  resource: 'ipaddresses',
  singular: 'ipaddress',
  shortNames: ['ip'],
  categories: [],
  namespaced: false,
  schema: 'networking.v1.IPAddress',
  verbs: STORED_VERBS,
  strategy: {
    validateName: (name) => validateCanonicalIp(name, '').map(({ detail }) => detail),
    validate,
    validateUpdate: (object, old) => immutable('spec.parentRef', object.spec?.parentRef, old.spec?.parentRef),
  },
  subresources: [],
  columns: [nameColumn, column('ParentRef', 'What has the address.', parent), ageColumn],
  selectableFields: {},
  stored: true,
};
