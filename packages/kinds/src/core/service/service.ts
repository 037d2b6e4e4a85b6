import { append } from '@gantry/base';
import {
  dns1123Subdomain,
  type FieldError,
  forbidden,
  invalid,
  labelName,
  oneOf,
  required,
  type Service,
  type ServicePort,
  SERVICES,
  type ServiceSpec,
} from '@gantry/objects';
import {
  ageColumn,
  column,
  defineResource,
  describedAs,
  fieldColumn,
  formatLabelSelector,
  invalidAll,
  nameColumn,
  PART_VERBS,
  PROXY_VERBS,
  type QuotaUsage,
} from '@gantry/apimachinery';
import { ipFamily, loadBalancerWarnings, validateIp } from '../../fields/ip.ts';
import { carryServiceAllocations, dropUnusedAllocations, needsClusterIp } from './allocations.ts';
import { settleFamilies, validateClusterFamilies } from './families.ts';
import { isHeadless, validateClusterIps } from './ips.ts';
import {
  isExternallyAccessible,
  needsHealthCheckPort,
  POLICIES,
  validateAskedNodePorts,
  validateLoadBalancerClass,
  validateService,
} from './spec.ts';
import { serviceWarnings } from './warnings.ts';
import type { Amounts } from '../../fields/quota.ts';

const NAMES: ReadonlySet<string> = new Set(['services', 'services.nodeports', 'services.loadbalancers']);

/** Quotas count services by number, node ports and load balancers. */
const serviceQuota: QuotaUsage<Service> = { limits: (name) => NAMES.has(name), usage: serviceUsage };

function serviceUsage({ spec }: Service): Amounts {
  const usage: Record<string, string> = { services: '1', 'services.loadbalancers': '0', 'services.nodeports': '0' };
  const ports = spec?.ports ?? [];
  if (spec?.type === 'NodePort') usage['services.nodeports'] = String(ports.length);
  if (spec?.type !== 'LoadBalancer') return usage;
  usage['services.loadbalancers'] = '1';
  const own = ports.filter(({ nodePort }) => (nodePort ?? 0) !== 0).length;
  usage['services.nodeports'] = String(spec.allocateLoadBalancerNodePorts === false ? own : ports.length);
  return usage;
}

const CLIENT_IP_SECONDS = 10800;
const IP_MODES = ['Proxy', 'VIP'];
const ONCE = 'may not change once set';

function applyDefaults(object: Service): void {
  const spec = (object.spec ??= {});
  if ((spec.sessionAffinity ?? '') === '') spec.sessionAffinity = 'None';
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === 'ClientIP') {
    const config = (spec.sessionAffinityConfig ??= {});
    (config.clientIP ??= {}).timeoutSeconds ??= CLIENT_IP_SECONDS;
  }
  if ((spec.type ?? '') === '') spec.type = 'ClusterIP';
  for (const port of spec.ports ?? []) defaultPort(port);
  if (isExternallyAccessible(spec) && (spec.externalTrafficPolicy ?? '') === '') spec.externalTrafficPolicy = 'Cluster';
  if (['ClusterIP', 'NodePort', 'LoadBalancer'].includes(spec.type ?? '')) spec.internalTrafficPolicy ??= 'Cluster';
  if (spec.type !== 'LoadBalancer') return;
  spec.allocateLoadBalancerNodePorts ??= true;
  for (const ingress of object.status?.loadBalancer?.ingress ?? []) {
    if ((ingress.ip ?? '') !== '') ingress.ipMode ??= 'VIP';
  }
}

function defaultPort(port: ServicePort): void {
  if ((port.protocol ?? '') === '') port.protocol = 'TCP';
  if (port.targetPort === undefined || port.targetPort === 0 || port.targetPort === '')
    port.targetPort = port.port ?? 0;
}

function prepareForCreate(object: Service): void {
  object.status = { loadBalancer: {} };
  const spec = (object.spec ??= {});
  if ((spec.clusterIP ?? '') !== '' && (spec.clusterIPs ?? []).length === 0) spec.clusterIPs = [spec.clusterIP ?? ''];
  settleFamilies(spec);
  dropUnusedPolicy(spec);
}

function prepareForUpdate(object: Service, old: Service): void {
  if (old.status === undefined) delete object.status;
  else object.status = old.status;
  const spec = (object.spec ??= {});
  const before = old.spec ?? {};
  carryServiceAllocations(spec, before);
  settleFamilies(spec, before);
  dropUnusedAllocations(spec, before);
  dropUnusedPolicy(spec);
  if (spec.type !== 'LoadBalancer') object.status = { ...object.status, loadBalancer: {} };
}

/** An ExternalName service has no internal traffic policy: Kubernetes accepts a valid one and drops it. */
function dropUnusedPolicy(spec: ServiceSpec): void {
  if (spec.type === 'ExternalName' && POLICIES.includes(spec.internalTrafficPolicy ?? '')) {
    delete spec.internalTrafficPolicy;
  }
}

function validate(object: Service, old?: Service): readonly FieldError[] {
  const spec = object.spec ?? {};
  const early = validateEarly(spec, old?.spec);
  if (early.length > 0) return early;
  const asked = old === undefined ? validateAskedNodePorts(spec) : [];
  return asked.length > 0 ? asked : validateService(object, old);
}

/** Errors in addresses and families. Kubernetes finds them before it allocates and reports them alone. */
function validateEarly(spec: ServiceSpec, old?: ServiceSpec): FieldError[] {
  const errors = validateClusterIps(spec);
  return errors.length > 0 ? errors : validateClusterFamilies(spec, old);
}

/** Addresses and families are immutable, unless the service had none or will have none. */
function validateUpdate(object: Service, old: Service): FieldError[] {
  const spec = object.spec ?? {};
  const before = old.spec ?? {};
  if (validateEarly(spec, before).length > 0) return [];
  const keeps = needsClusterIp(spec) && needsClusterIp(before);
  const errors = keeps ? [...validateAddressChange(spec, before), ...validateFamilyChange(spec, before)] : [];
  if (spec.type === 'LoadBalancer' && before.type === 'LoadBalancer') {
    const { loadBalancerClass: className } = spec;
    if (className !== before.loadBalancerClass) errors.push(invalid('spec.loadBalancerClass', className, ONCE));
  }
  append(errors, validateLoadBalancerClass(spec));
  const needsPort = needsHealthCheckPort(spec) && needsHealthCheckPort(before);
  if (needsPort && (spec.healthCheckNodePort ?? 0) !== (before.healthCheckNodePort ?? 0)) {
    errors.push(forbidden('spec.healthCheckNodePort', 'field is immutable'));
  }
  return errors;
}

function validateAddressChange(spec: ServiceSpec, old: ServiceSpec): FieldError[] {
  if (isHeadless(spec) && isHeadless(old)) return [];
  const path = 'spec.clusterIPs';
  const after = spec.clusterIPs ?? [];
  const before = old.clusterIPs ?? [];
  if (before.length === after.length) {
    return before.flatMap((address, i) => (address === after[i] ? [] : [invalid(`${path}[${i}]`, after, ONCE)]));
  }
  if (after.length === 0) return [invalid(`${path}[0]`, after, 'primary clusterIP can not be unset')];
  const errors = before.length > 0 && after[0] !== before[0] ? [invalid(`${path}[0]`, after, ONCE)] : [];
  if (before.length > after.length && after.length === 1 && spec.ipFamilyPolicy !== 'SingleStack') {
    errors.push(mustBeSingle(spec, 'clusterIP'));
  }
  return errors;
}

function validateFamilyChange(spec: ServiceSpec, old: ServiceSpec): FieldError[] {
  if (isHeadless(spec) || isHeadless(old)) return [];
  const path = 'spec.ipFamilies[0]';
  const after = spec.ipFamilies ?? [];
  const before = old.ipFamilies ?? [];
  if (before.length === after.length) {
    return before.flatMap((family, i) => (family === after[i] ? [] : [invalid(path, after, ONCE)]));
  }
  const errors: FieldError[] = [];
  const releases = before.length > after.length;
  if (releases && (spec.clusterIPs ?? []).length === 0) {
    errors.push(invalid(path, after, 'primary ipFamily can not be unset'));
  }
  if (before.length > 0 && after.length > 0 && after[0] !== before[0]) {
    errors.push(invalid(path, spec.clusterIPs, ONCE));
  }
  if (releases && after.length === 1 && spec.ipFamilyPolicy !== 'SingleStack')
    errors.push(mustBeSingle(spec, 'ipFamily'));
  return errors;
}

function mustBeSingle({ ipFamilyPolicy }: ServiceSpec, what: 'clusterIP' | 'ipFamily'): FieldError {
  const detail = `must be set to 'SingleStack' when releasing the secondary ${what}`;
  return invalid('spec.ipFamilyPolicy', ipFamilyPolicy, detail);
}

function validateStatus({ spec, status }: Service): FieldError[] {
  const ingress = status?.loadBalancer?.ingress ?? [];
  const path = 'status.loadBalancer.ingress';
  if (ingress.length > 0 && spec?.type !== 'LoadBalancer') {
    return [forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")];
  }
  return ingress.flatMap(({ ip = '', hostname = '', ipMode }, i) => {
    const errors = ip === '' ? [] : validateIp(ip, `${path}[${i}].ip`);
    const modePath = `${path}[${i}].ipMode`;
    if (ip === '' && ipMode !== undefined) {
      errors.push(forbidden(modePath, 'may not be specified when `ip` is not set'));
    } else if (ip !== '' && ipMode === undefined) {
      errors.push(required(modePath, 'must be specified when `ip` is set'));
    } else append(errors, oneOf(modePath, ipMode, IP_MODES));
    if (hostname === '') return errors;
    append(errors, invalidAll(`${path}[${i}].hostname`, hostname, dns1123Subdomain(hostname)));
    if (ipFamily(hostname) !== undefined) {
      errors.push(invalid(`${path}[${i}].hostname`, hostname, 'must be a DNS name, not an IP address'));
    }
    return errors;
  });
}

function externalIp({ spec = {}, status }: Service): string {
  const given = spec.externalIPs ?? [];
  switch (spec.type) {
    case 'ExternalName':
      return spec.externalName ?? '';
    case 'LoadBalancer': {
      const ingress = (status?.loadBalancer?.ingress ?? []).map(({ ip = '', hostname = '' }) =>
        ip === '' ? hostname : ip,
      );
      const all = [...new Set(ingress.filter((text) => text !== ''))].sort().concat(given);
      return all.length === 0 ? '<pending>' : all.join(',');
    }
    case 'ClusterIP':
    case 'NodePort':
      return given.length === 0 ? '<none>' : given.join(',');
    default:
      return '<unknown>';
  }
}

function portList({ spec }: Service): string {
  const texts = (spec?.ports ?? []).map(({ port, nodePort = 0, protocol = 'TCP' }) =>
    nodePort > 0 ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
  );
  return texts.length === 0 ? '<none>' : texts.join(',');
}

export const services = defineResource(SERVICES, {
  shortNames: ['svc'],
  categories: ['all'],
  schema: 'core.v1.Service',
  strategy: {
    deletionResponse: 'object',
    validateName: labelName,
    applyDefaults,
    prepareForCreate,
    prepareForUpdate,
    validate,
    validateUpdate,
    warnings: serviceWarnings,
    updateRules: 'before',
    metadataOnUpdate: 'change',
    allowCreateOnUpdate: true,
  },
  subresources: [
    { name: 'proxy', kind: 'ServiceProxyOptions', verbs: PROXY_VERBS },
    {
      name: 'status',
      verbs: PART_VERBS,
      prepareForUpdate: (object, old) => {
        if (old.spec !== undefined) object.spec = old.spec;
      },
      validateUpdate: validateStatus,
      warnings: loadBalancerWarnings,
    },
  ],
  quota: serviceQuota,
  columns: [
    nameColumn,
    fieldColumn('Type', 'core.v1.ServiceSpec', 'spec.type'),
    column(
      'Cluster-IP',
      describedAs('core.v1.ServiceSpec', 'clusterIP'),
      ({ spec }) => spec?.clusterIPs?.[0] ?? '<none>',
    ),
    column('External-IP', describedAs('core.v1.ServiceSpec', 'externalIPs'), externalIp),
    column('Port(s)', describedAs('core.v1.ServiceSpec', 'ports'), portList),
    ageColumn,
    column(
      'Selector',
      describedAs('core.v1.ServiceSpec', 'selector'),
      ({ spec }) => formatLabelSelector(spec?.selector === undefined ? undefined : { matchLabels: spec.selector }),
      { wide: 'wide' },
    ),
  ],
  selectableFields: {
    'spec.clusterIP': ({ spec }) => spec?.clusterIP ?? '',
    'spec.type': ({ spec }) => spec?.type ?? '',
  },
});
