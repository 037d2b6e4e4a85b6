import { append } from '@gantry/base';
import {
  duplicate,
  equalJson,
  type FieldError,
  forbidden,
  invalid,
  type Node,
  NODES,
  repeatedAt,
} from '@gantry/objects';
import {
  describedAs,
  PART_VERBS,
  PROXY_VERBS,
  ageColumn,
  column,
  defineResource,
  nameColumn,
  fieldColumn,
} from '@gantry/apimachinery';
import { validateAmount } from '../pod-spec/compute-resources.ts';
import { cidrFamily, cidrWarnings, validateCidr } from '../fields/ip.ts';
import { validateTaints } from '../pod-spec/tolerations.ts';

const ROLE_PREFIX = 'node-role.kubernetes.io/';
const ROLE_LABEL = 'kubernetes.io/role';

function applyDefaults(object: Node): void {
  const { spec, status } = object;
  if (spec?.podCIDR !== undefined && spec.podCIDR !== '' && spec.podCIDR !== spec.podCIDRs?.[0]) {
    spec.podCIDRs = [spec.podCIDR];
  }
  const first = spec?.podCIDRs?.[0];
  if (spec !== undefined && first !== undefined) spec.podCIDR = first;
  if (status?.capacity !== undefined && status.allocatable === undefined) status.allocatable = { ...status.capacity };
}

function validate(object: Node): FieldError[] {
  const cidrs = object.spec?.podCIDRs ?? [];
  const errors = validateTaints(object.spec?.taints ?? [], 'metadata.taints');
  cidrs.forEach((cidr, i) => {
    append(errors, validateCidr(cidr, `spec.podCIDRs[${i}]`));
  });
  if (cidrs.length < 2) return errors;
  const families = cidrs.map((cidr) => cidrFamily(cidr));
  const bad = families.indexOf(undefined);
  if (bad >= 0) {
    const detail = `invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[${bad}]: <nil> (invalid CIDR address: ${cidrs[bad] ?? ''})`;
    errors.push({ type: 'InternalError', field: 'spec.podCIDRs', detail });
  }
  if (bad >= 0 || cidrs.length > 2 || families[0] === families[1]) {
    errors.push(invalid('spec.podCIDRs', cidrs, 'may specify no more than one CIDR for each IP family'));
  }
  return errors;
}

function validateUpdate(object: Node, old: Node): FieldError[] {
  const errors = validateStatus(object);
  append(errors, validateTaints(object.spec?.taints ?? [], 'metadata.taints'));
  const before = old.spec?.podCIDRs ?? [];
  if (before.length > 0 && !equalJson(before, object.spec?.podCIDRs ?? [])) {
    errors.push(forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid'));
  }
  const provider = old.spec?.providerID ?? '';
  if (provider !== '' && provider !== (object.spec?.providerID ?? '')) {
    errors.push(forbidden('spec.providerID', 'node updates may not change providerID except from "" to valid'));
  }
  return errors;
}

/** The rules on amounts and addresses, for every write. */
function validateStatus({ status = {} }: Node): FieldError[] {
  const amounts = (['capacity', 'allocatable'] as const).flatMap((field) =>
    Object.entries(status[field] ?? {}).flatMap(([name, amount]) =>
      validateAmount(name, amount, `status.${field}.${name}`),
    ),
  );
  const addresses = (status.addresses ?? []).map(({ type = '', address = '' }) => ({ Type: type, Address: address }));
  const isRepeated = repeatedAt(addresses.map((one) => JSON.stringify(one)));
  return [
    ...amounts,
    ...addresses.flatMap((one, i) => (isRepeated(i) ? [duplicate(`status.addresses[${i}]`, one)] : [])),
  ];
}

function keepStatus(object: Node, old: Node): void {
  if (old.status === undefined) delete object.status;
  else object.status = old.status;
}

function keepSpec(object: Node, old: Node): void {
  if (old.spec === undefined) delete object.spec;
  else object.spec = old.spec;
}

function statusText(object: Node): string {
  const ready = object.status?.conditions?.find((condition) => condition.type === 'Ready');
  const text = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady';
  return object.spec?.unschedulable === true ? `${text},SchedulingDisabled` : text;
}

function roles({ metadata: { labels = {} } }: Node): string {
  const found = new Set<string>();
  for (const [key, value] of Object.entries(labels)) {
    if (key.startsWith(ROLE_PREFIX) && key !== ROLE_PREFIX) found.add(key.slice(ROLE_PREFIX.length));
    else if (key === ROLE_LABEL && value !== '') found.add(value);
  }
  return found.size === 0 ? '<none>' : [...found].sort().join(',');
}

function address(type: string): (object: Node) => string {
  return (object) => object.status?.addresses?.find((item) => item.type === type)?.address ?? '<none>';
}

function orUnknown(text: string | undefined): string {
  return text === undefined || text === '' ? '<unknown>' : text;
}

function warnings({ spec = {} }: Node): string[] {
  const texts: string[] = [];
  if (spec.configSource !== undefined) texts.push('spec.configSource: the feature is removed');
  if ((spec.externalID ?? '') !== '') {
    texts.push('spec.externalID: this field is deprecated, and is unused by Kubernetes');
  }
  return [...texts, ...(spec.podCIDRs ?? []).flatMap((cidr, i) => cidrWarnings(cidr, `spec.podCIDRs[${i}]`))];
}

export const nodes = defineResource(NODES, {
  shortNames: ['no'],
  schema: 'core.v1.Node',
  strategy: {
    applyDefaults,
    prepareForUpdate: keepStatus,
    validate,
    validateUpdate,
    metadataOnUpdate: 'whole first',
    warnings,
  },
  subresources: [
    { name: 'proxy', kind: 'NodeProxyOptions', verbs: PROXY_VERBS },
    { name: 'status', verbs: PART_VERBS, prepareForUpdate: keepSpec, validateUpdate },
  ],
  columns: [
    nameColumn,
    column('Status', 'The status of the node', statusText),
    column('Roles', 'The roles of the node', roles),
    ageColumn,
    fieldColumn('Version', 'core.v1.NodeSystemInfo', 'status.nodeInfo.kubeletVersion'),
    column('Internal-IP', describedAs('core.v1.NodeStatus', 'addresses'), address('InternalIP'), { wide: 'wide' }),
    column('External-IP', describedAs('core.v1.NodeStatus', 'addresses'), address('ExternalIP'), { wide: 'wide' }),
    column(
      'OS-Image',
      describedAs('core.v1.NodeSystemInfo', 'osImage'),
      (object) => orUnknown(object.status?.nodeInfo?.osImage),
      {
        wide: 'wide',
      },
    ),
    column(
      'Kernel-Version',
      describedAs('core.v1.NodeSystemInfo', 'kernelVersion'),
      (object) => orUnknown(object.status?.nodeInfo?.kernelVersion),
      {
        wide: 'wide',
      },
    ),
    column(
      'Container-Runtime',
      describedAs('core.v1.NodeSystemInfo', 'containerRuntimeVersion'),
      (object) => orUnknown(object.status?.nodeInfo?.containerRuntimeVersion),
      { wide: 'wide' },
    ),
  ],
  selectableFields: { 'spec.unschedulable': (object) => String(object.spec?.unschedulable ?? false) },
});
