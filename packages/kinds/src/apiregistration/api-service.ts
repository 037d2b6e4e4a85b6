import { append, formatTime } from '@gantry/base';
import {
  type APIService,
  type APIServiceSpec,
  API_SERVICES,
  type FieldError,
  dns1035Label,
  dns1123Subdomain,
  invalid,
  pathSegment,
  portNumber,
  required,
} from '@gantry/objects';
import {
  METADATA_AND_SPEC,
  PART_VERBS,
  type StrategyContext,
  ageColumn,
  column,
  defineResource,
  invalidAll,
  nameColumn,
  unsupported,
} from '@gantry/apimachinery';

const HTTPS_PORT = 443;
const MAX_GROUP_PRIORITY = 20000;
const MAX_VERSION_PRIORITY = 1000;

function applyDefaults({ spec }: APIService): void {
  if (spec?.service !== undefined) spec.service.port ??= HTTPS_PORT;
}

/** An APIService that this server serves itself is available at once. */
function prepareForCreate(object: APIService, { now }: StrategyContext): void {
  object.status = {};
  if (object.spec?.service !== undefined) return;
  const message = 'Local APIServices are always available';
  const condition = { type: 'Available', status: 'True', reason: 'Local', message };
  object.status.conditions = [{ ...condition, lastTransitionTime: formatTime(now) }];
}

function validate(object: APIService): FieldError[] {
  const spec = object.spec ?? ({} as APIServiceSpec);
  const { group = '', version = '', groupPriorityMinimum = 0, versionPriority = 0 } = spec;
  const errors = validateNames(object, `${version}.${group}`);
  if (group === '' && version !== 'v1') {
    errors.push(required('spec.group', 'only v1 may have an empty group and it better be legacy kube'));
  }
  if (group !== '') append(errors, invalidAll('spec.group', group, dns1123Subdomain(group)));
  append(errors, invalidAll('spec.version', version, dns1035Label(version)));
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > MAX_GROUP_PRIORITY) {
    const detail = `must be positive and less than ${MAX_GROUP_PRIORITY}`;
    errors.push(invalid('spec.groupPriorityMinimum', groupPriorityMinimum, detail));
  }
  if (versionPriority <= 0 || versionPriority > MAX_VERSION_PRIORITY) {
    const detail = `must be positive and less than ${MAX_VERSION_PRIORITY}`;
    errors.push(invalid('spec.versionPriority', versionPriority, detail));
  }
  return [...errors, ...validateBacking(spec)];
}

/** The name must match version and group. */
function validateNames({ metadata }: APIService, wanted: string): FieldError[] {
  const { name = '', generateName = '' } = metadata;
  const detail = `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(wanted)}`;
  const wrong = (value: string) => value !== '' && value !== wanted && pathSegment(value, false).length === 0;
  return [
    ...(wrong(generateName) ? [invalid('metadata.generateName', generateName, detail)] : []),
    ...(wrong(name) ? [invalid('metadata.name', name, detail)] : []),
  ];
}

function validateBacking(spec: APIServiceSpec): FieldError[] {
  const { service, caBundle = '', insecureSkipTLSVerify = false } = spec;
  const errors: FieldError[] = [];
  if (service === undefined) {
    const size = `${Buffer.byteLength(caBundle, 'base64')} bytes`;
    if (caBundle !== '') errors.push(invalid('spec.caBundle', size, 'local APIServices may not have a caBundle'));
    if (insecureSkipTLSVerify) {
      errors.push(invalid('spec.insecureSkipTLSVerify', true, 'local APIServices may not have insecureSkipTLSVerify'));
    }
    return errors;
  }
  const { namespace = '', name = '', port = 0 } = service;
  if (namespace === '') errors.push(required('spec.service.namespace'));
  if (name === '') errors.push(required('spec.service.name'));
  const complaints = portNumber(port);
  if (complaints.length > 0) {
    errors.push(invalid('spec.service.port', port, `port is not valid: ${complaints.join(', ')}`));
  }
  if (insecureSkipTLSVerify && caBundle !== '') {
    errors.push(invalid('spec.insecureSkipTLSVerify', true, 'may not be true if caBundle is present'));
  }
  return errors;
}

/** A status update changes only the status; labels, annotations, finalizers and owners stay. */
function prepareStatus(object: APIService, old: APIService): void {
  if (old.spec === undefined) delete object.spec;
  else object.spec = old.spec;
  for (const field of ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const) {
    const value = old.metadata[field];
    if (value === undefined) delete object.metadata[field];
    else Object.assign(object.metadata, { [field]: value });
  }
}

function validateStatus({ status }: APIService): FieldError[] {
  const known = ['True', 'False', 'Unknown'];
  return (status?.conditions ?? []).flatMap((condition, i) =>
    known.includes(condition.status) ? [] : [unsupported(`status.conditions[${i}].status`, condition.status, known)],
  );
}

function availability({ status }: APIService): string {
  const condition = (status?.conditions ?? []).find(({ type }) => type === 'Available');
  if (condition === undefined) return 'Unknown';
  const { reason = '' } = condition;
  return condition.status === 'True' || reason === '' ? condition.status : `${condition.status} (${reason})`;
}

export const apiServices = defineResource(API_SERVICES, {
  categories: ['api-extensions'],
  schema: 'apiregistration.v1.APIService',
  strategy: {
    finalizers: 'qualified',
    validateName: pathSegment,
    applyDefaults,
    prepareForCreate,
    prepareForUpdate: (object, old) => {
      object.status = old.status ?? {};
    },
    validate,
    allowUnconditionalUpdate: false,
  },
  subresources: [
    {
      name: 'status',
      resetFields: METADATA_AND_SPEC,
      verbs: PART_VERBS,
      prepareForUpdate: prepareStatus,
      validateUpdate: validateStatus,
    },
  ],
  columns: [
    nameColumn,
    column('Service', 'The reference to the service that hosts this API endpoint.', ({ spec }) =>
      spec?.service === undefined ? 'Local' : `${spec.service.namespace ?? ''}/${spec.service.name ?? ''}`,
    ),
    column('Available', 'Whether this service is available.', availability),
    ageColumn,
  ],
});
