import {
  type FieldError,
  INGRESS_CLASSES,
  type IngressClass,
  type IngressClassParametersReference,
  dns1123Label,
  dns1123Subdomain,
  forbidden,
  invalid,
  notSupported,
  required,
  tooLong,
  DEFAULT_INGRESS_CLASS,
} from '@gantry/objects';
import { ageColumn, column, defineResource, immutable, invalidAll, nameColumn } from '@gantry/apimachinery';
import { validateTypedReference } from '../fields/references.ts';

const MAX_CONTROLLER = 250;
const SCOPES = ['Cluster', 'Namespace'];
const PATH_RULE = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const PATH = new RegExp(`^${PATH_RULE}$`);

function applyDefaults({ spec }: IngressClass): void {
  if (spec?.parameters !== undefined) spec.parameters.scope ??= 'Cluster';
}

function validate({ spec = {} }: IngressClass): FieldError[] {
  const { controller = '', parameters } = spec;
  const path = 'spec.controller';
  return [
    ...(controller.length > MAX_CONTROLLER ? [tooLong(path, MAX_CONTROLLER)] : []),
    ...validateController(controller, path),
    ...(parameters === undefined ? [] : validateParameters(parameters, 'spec.parameters')),
  ];
}

function validateController(controller: string, path: string): FieldError[] {
  if (controller === '') return [required(path)];
  const slash = controller.indexOf('/');
  const [host, rest] = [controller.slice(0, slash), controller.slice(slash + 1)];
  if (slash <= 0 || rest === '') {
    return [invalid(path, controller, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  }
  const errors = invalidAll(path, host, dns1123Subdomain(host));
  if (!PATH.test(rest)) errors.push(invalid(path, rest, `Invalid path (regex used for validation is '${PATH_RULE}')`));
  return errors;
}

function validateParameters(parameters: IngressClassParametersReference, path: string): FieldError[] {
  const errors = validateTypedReference(parameters, path);
  const { scope, namespace } = parameters;
  const at = `${path}.namespace`;
  if (scope === undefined) return [...errors, required(`${path}.scope`)];
  if (!SCOPES.includes(scope)) return [...errors, notSupported(`${path}.scope`, scope, SCOPES)];
  if (scope === 'Cluster') {
    return namespace === undefined ? errors : [...errors, forbidden(at, "`parameters.scope` is set to 'Cluster'")];
  }
  return namespace === undefined
    ? [...errors, required(at, "`parameters.scope` is set to 'Namespace'")]
    : [...errors, ...invalidAll(at, namespace, dns1123Label(namespace))];
}

function name({ metadata }: IngressClass): string {
  const isDefault = metadata.annotations?.[DEFAULT_INGRESS_CLASS] === 'true';
  return isDefault ? `${metadata.name ?? ''} (default)` : (metadata.name ?? '');
}

function parameterText({ spec }: IngressClass): string {
  const { kind, apiGroup, name: of } = spec?.parameters ?? { kind: '', name: '' };
  if (spec?.parameters === undefined) return '<none>';
  return `${kind}${apiGroup === undefined ? '' : `.${apiGroup}`}/${of}`;
}

export const ingressClasses = defineResource(INGRESS_CLASSES, {
  schema: 'networking.v1.IngressClass',
  strategy: {
    applyDefaults,
    validate,
    validateUpdate: (object, old) => immutable('spec.controller', object.spec?.controller ?? '', old.spec?.controller),
    updateRules: 'before',
    hasGeneration: true,
  },
  columns: [
    { ...nameColumn, value: name },
    column(
      'Controller',
      'Controller that is responsible for handling this class',
      ({ spec }) => spec?.controller ?? '',
    ),
    column('Parameters', 'A reference to a resource with additional parameters', parameterText),
    ageColumn,
  ],
});
