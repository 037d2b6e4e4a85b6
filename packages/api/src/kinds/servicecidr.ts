import { type FieldError, invalid, required } from '../field-error.ts';
import type { ServiceCIDR } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { IMMUTABLE } from './rules/errors.ts';
import { cidrFamily, validateCanonicalCidr } from './rules/ip.ts';
import { keepMetadata } from './rules/status-metadata.ts';
import { PART_VERBS, STORED_VERBS } from './verbs.ts';

const PATH = 'spec.cidrs';

function validateCidrs({ spec = {} }: ServiceCIDR): FieldError[] {
  const { cidrs = [] } = spec;
  if (cidrs.length === 0) return [required(PATH, 'at least one CIDR required')];
  if (cidrs.length > 2) return [invalid(PATH, spec, 'may only hold up to 2 values')];
  const errors = cidrs.flatMap((cidr, i) => validateCanonicalCidr(cidr, `${PATH}[${i}]`));
  const [first, second] = cidrs.map((cidr) => cidrFamily(cidr));
  if (cidrs.length === 2 && first !== undefined && first === second) {
    const detail = 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64';
    errors.push(invalid(PATH, cidrs, detail));
  }
  return errors;
}

/** Ranges stay; one of the other family may be added. */
function validateUpdate(object: ServiceCIDR, old: ServiceCIDR): FieldError[] {
  const [now, before] = [object.spec?.cidrs ?? [], old.spec?.cidrs ?? []];
  const changed = before.flatMap((cidr, i) => (now[i] === cidr ? [] : [invalid(`${PATH}[${i}]`, now[i], IMMUTABLE)]));
  if (now.length === before.length) return changed;
  if (before.length === 1 && now.length === 2) return [...changed, ...validateCidrs(object)];
  return [invalid(PATH, object.spec?.cidrs ?? null, IMMUTABLE)];
}

export const serviceCidrs: ResourceDefinition<ServiceCIDR> = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'ServiceCIDR',
  resource: 'servicecidrs',
  singular: 'servicecidr',
  shortNames: [],
  categories: [],
  namespaced: false,
  schema: 'networking.v1.ServiceCIDR',
  verbs: STORED_VERBS,
  strategy: {
    prepareForCreate: (object) => {
      object.status = {};
    },
    prepareForUpdate: (object, old) => {
      object.status = { ...old.status };
    },
    validateCreate: validateCidrs,
    validateUpdate,
    metadataOnUpdate: 'change',
  },
  subresources: [
    {
      name: 'status',
      verbs: PART_VERBS,
      prepareForUpdate: (object, old) => {
        object.spec = { ...old.spec };
        keepMetadata(object, old);
      },
    },
  ],
  columns: [
    nameColumn,
    column('CIDRs', 'The ranges of addresses.', ({ spec }) => (spec?.cidrs ?? []).join(',')),
    ageColumn,
  ],
  selectableFields: {},
  stored: true,
};
