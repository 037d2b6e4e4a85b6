import { append } from '@gantry/base';
import {
  type FieldError,
  type HTTPIngressPath,
  INGRESSES,
  type Ingress,
  type IngressBackend,
  type IngressRule,
  type IngressTLS,
  dns1123Label,
  dns1123Subdomain,
  invalid,
  portName,
  portNumber,
  required,
  wildcardSubdomain,
  INGRESS_CLASS_ANNOTATION,
  oneOf,
} from '@gantry/objects';
import { PART_VERBS, ageColumn, column, defineResource, invalidAll, nameColumn } from '@gantry/apimachinery';
import { ipFamily, loadBalancerWarnings, validateIp } from '../fields/ip.ts';
import { validateTypedReference } from '../fields/references.ts';
import { keepSpec } from '../fields/status.ts';

const PATH_TYPES = ['Exact', 'ImplementationSpecific', 'Prefix'];
const BAD_PARTS = ['//', '/./', '/../', '%2f', '%2F'];
const BAD_ENDS = ['/..', '/.'];
const SHOWN = 3;

function validate({ spec = {} }: Ingress): FieldError[] {
  const { rules = [], defaultBackend, tls = [], ingressClassName } = spec;
  return [
    ...(rules.length === 0 && defaultBackend === undefined
      ? [invalid('spec', spec.rules ?? null, 'either `defaultBackend` or `rules` must be specified')]
      : []),
    ...(defaultBackend === undefined ? [] : validateBackend(defaultBackend, 'spec.defaultBackend')),
    ...rules.flatMap((rule, i) => validateRule(rule, `spec.rules[${i}]`)),
    ...tls.flatMap((entry, i) => validateTls(entry, `spec.tls[${i}]`)),
    ...(ingressClassName === undefined
      ? []
      : invalidAll('spec.ingressClassName', ingressClassName, dns1123Subdomain(ingressClassName))),
  ];
}

function validateHost(host: string, path: string): FieldError[] {
  return invalidAll(path, host, host.includes('*') ? wildcardSubdomain(host) : dns1123Subdomain(host));
}

function validateTls({ hosts = [], secretName = '' }: IngressTLS, path: string): FieldError[] {
  return [
    ...hosts.flatMap((host, i) => validateHost(host, `${path}.hosts[${i}]`)),
    ...(secretName === '' ? [] : invalidAll(`${path}.secretName`, secretName, dns1123Subdomain(secretName))),
  ];
}

function validateRule({ host = '', http }: IngressRule, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const at = `${path}.host`;
  if (host !== '') {
    if (ipFamily(host) !== undefined) errors.push(invalid(at, host, 'must be a DNS name, not an IP address'));
    append(errors, validateHost(host, at));
  }
  if (http === undefined) return errors;
  const paths = http.paths ?? [];
  if (paths.length === 0) errors.push(required(`${path}.http.paths`));
  return [...errors, ...paths.flatMap((item, i) => validatePath(item, `${path}.http.paths[${i}]`))];
}

function validatePath(item: HTTPIngressPath, path: string): FieldError[] {
  const { path: text = '' } = item;
  const pathType = item.pathType as string | null | undefined;
  const at = `${path}.path`;
  if (pathType === undefined || pathType === null) return [required(`${path}.pathType`, 'pathType must be specified')];
  const errors: FieldError[] = [];
  if (!PATH_TYPES.includes(pathType)) append(errors, oneOf(`${path}.pathType`, pathType, PATH_TYPES));
  else if (!text.startsWith('/') && (text !== '' || pathType !== 'ImplementationSpecific')) {
    errors.push(invalid(at, text, 'must be an absolute path'));
  }
  if (pathType === 'Exact' || pathType === 'Prefix') {
    for (const part of BAD_PARTS) if (text.includes(part)) errors.push(invalid(at, text, `must not contain '${part}'`));
    for (const end of BAD_ENDS) if (text.endsWith(end)) errors.push(invalid(at, text, `cannot end with '${end}'`));
  }
  return [...errors, ...validateBackend(item.backend ?? {}, `${path}.backend`)];
}

function validateBackend({ resource, service }: IngressBackend, path: string): FieldError[] {
  if (resource !== undefined && service !== undefined) {
    return [invalid(path, '', 'cannot set both resource and service backends')];
  }
  if (resource !== undefined) return validateTypedReference(resource, `${path}.resource`);
  if (service === undefined) return [invalid(path, '', 'resource or service backend is required')];
  const { name = '', port: { name: byName = '', number = 0 } = {} } = service;
  const at = `${path}.service`;
  const errors = name === '' ? [required(`${at}.name`)] : invalidAll(`${at}.name`, name, dns1123Label(name));
  if (byName !== '' && number !== 0) errors.push(invalid(path, '', 'cannot set both port name & port number'));
  else if (byName !== '') append(errors, invalidAll(`${at}.port.name`, byName, portName(byName)));
  else if (number !== 0) append(errors, invalidAll(`${at}.port.number`, number, portNumber(number)));
  else errors.push(required(path, 'port name or number is required'));
  return errors;
}

function validateCreate({ metadata, spec }: Ingress): FieldError[] {
  const annotation = metadata.annotations?.[INGRESS_CLASS_ANNOTATION];
  const className = spec?.ingressClassName;
  return annotation === undefined || className === undefined || annotation === className
    ? []
    : [
        invalid(
          `annotations.${INGRESS_CLASS_ANNOTATION}`,
          annotation,
          'must match `ingressClassName` when both are specified',
        ),
      ];
}

function validateStatus({ status }: Ingress, old: Ingress): FieldError[] {
  const kept = (old.status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => (ip === undefined ? [] : [ip]));
  return (status?.loadBalancer?.ingress ?? []).flatMap(({ ip = '', hostname = '' }, i) => {
    const path = `status.loadBalancer.ingress[${i}]`;
    const errors = ip === '' ? [] : validateIp(ip, `${path}.ip`, kept);
    if (hostname === '') return errors;
    append(errors, invalidAll(`${path}.hostname`, hostname, dns1123Subdomain(hostname)));
    if (ipFamily(hostname) !== undefined) {
      errors.push(invalid(`${path}.hostname`, hostname, 'must be a DNS name, not an IP address'));
    }
    return errors;
  });
}

function warnings({ metadata, spec }: Ingress, old?: Ingress): string[] {
  const isOld = metadata.annotations?.[INGRESS_CLASS_ANNOTATION] !== undefined && spec?.ingressClassName === undefined;
  return old === undefined && isOld
    ? [
        `annotation ${JSON.stringify(INGRESS_CLASS_ANNOTATION)} is deprecated, please use 'spec.ingressClassName' instead`,
      ]
    : [];
}

function hosts({ spec }: Ingress): string {
  const rules = spec?.rules ?? [];
  const shown = rules
    .slice(0, rules.length)
    .flatMap(({ host = '' }) => (host === '' ? [] : [host]))
    .slice(0, SHOWN);
  if (shown.length === 0) return '*';
  const last = rules.findIndex(({ host }) => host === shown.at(-1));
  const more = shown.length === SHOWN && last < rules.length - 1;
  return more ? `${shown.join(',')} + ${rules.length - SHOWN} more...` : shown.join(',');
}

function address({ status }: Ingress): string {
  const all = (status?.loadBalancer?.ingress ?? []).map(({ ip = '', hostname = '' }) => (ip === '' ? hostname : ip));
  return [...new Set(all.filter((text) => text !== ''))].sort().join(',');
}

export const ingresses = defineResource(INGRESSES, {
  shortNames: ['ing'],
  schema: 'networking.v1.Ingress',
  strategy: {
    prepareForCreate: (object) => {
      object.status = { loadBalancer: {} };
    },
    prepareForUpdate: (object, old) => {
      object.status = { ...old.status };
    },
    validate,
    validateCreate,
    warnings,
    hasGeneration: true,
  },
  subresources: [
    {
      name: 'status',
      verbs: PART_VERBS,
      prepareForUpdate: keepSpec,
      validateUpdate: validateStatus,
      warnings: loadBalancerWarnings,
    },
  ],
  columns: [
    nameColumn,
    column(
      'Class',
      'The name of the IngressClass resource that should be used for additional configuration',
      ({ spec }) => spec?.ingressClassName ?? '<none>',
    ),
    column('Hosts', 'Hosts that incoming requests are matched against before the ingress rule', hosts),
    column('Address', 'Address is a list containing ingress points for the load-balancer', address),
    column('Ports', 'Ports of TLS configurations that open', ({ spec }) =>
      (spec?.tls ?? []).length > 0 ? '80, 443' : '80',
    ),
    ageColumn,
  ],
});
