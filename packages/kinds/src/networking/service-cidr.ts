import { type FieldError, SERVICE_CIDRS, type ServiceCIDR, invalid, required } from '@gantry/objects';
import {
  METADATA_AND_SPEC,
  describedAs,
  IMMUTABLE,
  PART_VERBS,
  ageColumn,
  column,
  defineResource,
  nameColumn,
} from '@gantry/apimachinery';
import { cidrFamily, validateCanonicalCidr } from '../fields/ip.ts';
import { keepMetadata } from '../fields/status.ts';

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

/** Ranges are immutable; one of the other family may be added. */
function validateUpdate(object: ServiceCIDR, old: ServiceCIDR): FieldError[] {
  const [now, before] = [object.spec?.cidrs ?? [], old.spec?.cidrs ?? []];
  const changed = before.flatMap((cidr, i) => (now[i] === cidr ? [] : [invalid(`${PATH}[${i}]`, now[i], IMMUTABLE)]));
  if (now.length === before.length) return changed;
  if (before.length === 1 && now.length === 2) return [...changed, ...validateCidrs(object)];
  return [invalid(PATH, object.spec?.cidrs ?? null, IMMUTABLE)];
}

export const serviceCidrs = defineResource(SERVICE_CIDRS, {
  schema: 'networking.v1.ServiceCIDR',
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
      resetFields: METADATA_AND_SPEC,
      verbs: PART_VERBS,
      prepareForUpdate: (object, old) => {
        object.spec = { ...old.spec };
        keepMetadata(object, old);
      },
    },
  ],
  columns: [
    nameColumn,
    column('CIDRs', describedAs('networking.v1.ServiceCIDRSpec', 'cidrs'), ({ spec }) => (spec?.cidrs ?? []).join(',')),
    ageColumn,
  ],
});
