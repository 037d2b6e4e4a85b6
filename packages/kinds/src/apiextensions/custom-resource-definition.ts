import { isSupportedFormat, validateDefinitionSpec, validateNames } from '@gantry/custom-resources';
import { formatTime } from '@gantry/base';
import { type JsonSchema, createdAtColumn, defineResource, itemsOf, nameColumn, valuesOf } from '@gantry/apimachinery';
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  type CustomResourceDefinitionCondition,
  type FieldError,
  equalJson,
  invalid,
  required,
  subdomainName,
  APPROVAL_ANNOTATION,
} from '@gantry/objects';

/** Keeps a definition until its objects are gone. */
export const CUSTOM_RESOURCE_CLEANUP = 'customresourcecleanup.apiextensions.k8s.io';

/** The annotation with the approval of a definition in a protected Kubernetes group. */

const APPROVAL_LINK = 'see https://github.com/kubernetes/enhancements/pull/1111';

/** The condition of a type, if the definition has it. */
export function definitionCondition(
  { status }: CustomResourceDefinition,
  type: string,
): CustomResourceDefinitionCondition | undefined {
  return (status?.conditions ?? []).find((condition) => condition.type === type);
}

/** The conditions with one condition set. Its transition time changes only if its status does. */
export function setDefinitionCondition(
  conditions: readonly CustomResourceDefinitionCondition[],
  condition: CustomResourceDefinitionCondition,
  now: number,
): CustomResourceDefinitionCondition[] {
  const at = conditions.findIndex(({ type }) => type === condition.type);
  const before = conditions[at];
  const lastTransitionTime = before?.status === condition.status ? before.lastTransitionTime : formatTime(now);
  const next = { ...condition, ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }) };
  return at < 0 ? [...conditions, next] : conditions.map((one, i) => (i === at ? next : one));
}

function applyDefaults(crd: CustomResourceDefinition): void {
  const spec = (crd.spec ??= {} as CustomResourceDefinition['spec']);
  spec.conversion ??= { strategy: 'None' };
  const service = spec.conversion.webhook?.clientConfig?.service;
  if (service !== undefined) service.port ??= 443;
  const names = spec.names;
  if (names !== undefined) {
    const { kind = '' } = names;
    if ((names.singular ?? '') === '') names.singular = kind.toLowerCase();
    if ((names.listKind ?? '') === '' && kind !== '') names.listKind = `${kind}List`;
  }
  if (crd.status !== undefined && (crd.status.storedVersions ?? []).length === 0) noteStoredVersion(crd);
}

/** Adds the current storage version to the stored versions. */
function noteStoredVersion(crd: CustomResourceDefinition): void {
  const stored = (crd.spec.versions ?? []).find(({ storage }) => storage)?.name;
  const status = crd.status;
  if (stored === undefined || status === undefined) return;
  const known = status.storedVersions ?? [];
  if (!known.includes(stored)) status.storedVersions = [...known, stored];
}

function resetStatus(crd: CustomResourceDefinition): void {
  crd.status = { acceptedNames: { kind: '', plural: '' } };
  noteStoredVersion(crd);
}

function validateStoredVersions({ spec, status }: CustomResourceDefinition): FieldError[] {
  const path = 'status.storedVersions';
  const stored = status?.storedVersions ?? [];
  if (stored.length === 0) return [invalid(path, null, 'must have at least one stored version')];
  const versions = spec.versions ?? [];
  const left = new Map(stored.map((name, i) => [name, i]));
  const errors: FieldError[] = [];
  for (const { name, storage } of versions) {
    // A duplicate version matches its stored name only once.
    if (!left.delete(name) && storage) errors.push(invalid(path, stored, `must have the storage version ${name}`));
  }
  for (const [name, i] of left) {
    const detail = `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`;
    errors.push(invalid(`${path}[${i}]`, name, detail));
  }
  return errors;
}

/** The approval state of a definition; undefined if its group needs no approval. */
export function approvalOf(crd: CustomResourceDefinition): 'missing' | 'invalid' | 'bypassed' | 'approved' | undefined {
  const { group = '' } = crd.spec;
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(group)) return undefined;
  const value = crd.metadata.annotations?.[APPROVAL_ANNOTATION] ?? '';
  if (value === '') return 'missing';
  if (value.startsWith('unapproved')) return 'bypassed';
  return URL.canParse(value) && new URL(value).host !== '' ? 'approved' : 'invalid';
}

function validateApproval(crd: CustomResourceDefinition, old: CustomResourceDefinition | undefined): FieldError[] {
  const approval = approvalOf(crd);
  if (approval !== 'missing' && approval !== 'invalid') return [];
  // Other changes do not check the approval again.
  if (old !== undefined && approvalOf(old) === approval) return [];
  const value = crd.metadata.annotations?.[APPROVAL_ANNOTATION];
  const path = `metadata.annotations[${APPROVAL_ANNOTATION}]`;
  const must = `protected groups must have approval annotation "${APPROVAL_ANNOTATION}"`;
  if (approval === 'missing') return [required(path, `${must}, ${APPROVAL_LINK}`)];
  return [invalid(path, value, `${must} with either a URL or a reason starting with "unapproved", ${APPROVAL_LINK}`)];
}

function validatePreserving(
  { spec }: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): FieldError[] {
  if (spec.preserveUnknownFields !== true || old?.spec.preserveUnknownFields === true) return [];
  const detail =
    'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
  return [invalid('spec.preserveUnknownFields', true, detail)];
}

function immutable(path: string, value: unknown, old: unknown): FieldError[] {
  return equalJson(value, old) ? [] : [invalid(path, value, 'field is immutable')];
}

/** Warns once about each format that Kubernetes does not know. */
function warnings(crd: CustomResourceDefinition, old?: CustomResourceDefinition): readonly string[] {
  const known = new Set(old === undefined ? [] : unknownFormats(old));
  return unknownFormats(crd)
    .filter((format) => !known.has(format))
    .map((format) => `unrecognized format ${JSON.stringify(format)}`);
}

function unknownFormats(crd: CustomResourceDefinition): readonly string[] {
  const unknown = new Set<string>();
  const visit = (schema: JsonSchema | undefined): void => {
    if (schema === undefined) return;
    const { format = '' } = schema;
    if (format !== '' && !isSupportedFormat(format, schema.type)) unknown.add(format);
    const { not, properties = {}, allOf = [], anyOf = [], oneOf = [] } = schema;
    for (const inner of [itemsOf(schema), valuesOf(schema), not]) visit(inner);
    for (const inner of [...Object.values(properties), ...allOf, ...anyOf, ...oneOf]) visit(inner);
  };
  for (const { schema } of crd.spec.versions ?? []) visit(schema?.openAPIV3Schema as JsonSchema | undefined);
  return [...unknown].sort();
}

/** Rules for new and changed definitions. */
function validateCommon(crd: CustomResourceDefinition, old: CustomResourceDefinition | undefined): FieldError[] {
  return [
    ...validateNames(crd.status?.acceptedNames, 'status.acceptedNames'),
    ...validateStoredVersions(crd),
    ...validateApproval(crd, old),
    ...validatePreserving(crd, old),
  ];
}
/** The kind with which clients define custom resources. */
export const customResourceDefinitions = defineResource(CUSTOM_RESOURCE_DEFINITIONS, {
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  schema: 'apiextensions.v1.CustomResourceDefinition',
  strategy: {
    deletionResponse: 'object',
    validateName: subdomainName,
    finalizers: 'qualified',
    hasGeneration: true,
    applyDefaults,
    allowUnconditionalUpdate: false,
    metadataOnUpdate: 'change',
    prepareForCreate: resetStatus,
    prepareForUpdate: (crd, old) => {
      if (old.status === undefined) delete crd.status;
      else crd.status = { ...old.status };
      noteStoredVersion(crd);
    },
    markForDeletion: (crd, now) => {
      const finalizers = crd.metadata.finalizers ?? [];
      if (!finalizers.includes(CUSTOM_RESOURCE_CLEANUP)) {
        crd.metadata.finalizers = [...finalizers, CUSTOM_RESOURCE_CLEANUP];
      }
      const condition: CustomResourceDefinitionCondition = {
        type: 'Terminating',
        status: 'True',
        reason: 'InstanceDeletionPending',
        message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
      };
      const conditions = setDefinitionCondition(crd.status?.conditions ?? [], condition, now);
      crd.status = { ...crd.status, conditions };
    },
    validateCreate: (crd) => {
      const { name = '', generateName = '' } = crd.metadata;
      const wanted = `${crd.spec.names?.plural ?? ''}.${crd.spec.group ?? ''}`;
      const must = 'must be spec.names.plural+"."+spec.group';
      const mismatch = Object.entries({ generateName, name })
        .filter(([, value]) => value !== '' && value !== wanted)
        .map(([field, value]) => invalid(`metadata.${field}`, value, must));
      return function* (turn) {
        const spec = yield* validateDefinitionSpec(crd.spec, undefined)(turn);
        return [...mismatch, ...spec, ...validateCommon(crd, undefined)];
      };
    },
    validateUpdate: (crd, old) =>
      function* (turn) {
        const established = definitionCondition(old, 'Established')?.status === 'True';
        return [
          ...(yield* validateDefinitionSpec(crd.spec, old.spec)(turn)),
          ...(established ? immutable('spec.scope', crd.spec.scope, old.spec.scope) : []),
          ...(established ? immutable('spec.names.kind', crd.spec.names?.kind, old.spec.names.kind) : []),
          ...immutable('spec.group', crd.spec.group, old.spec.group),
          ...immutable('spec.names.plural', crd.spec.names?.plural, old.spec.names.plural),
          ...validateCommon(crd, old),
        ];
      },
    warnings,
  },
  subresources: [
    {
      name: 'status',
      verbs: ['get', 'patch', 'update'],
      requiresVersion: true,
      prepareForUpdate: (crd, old) => {
        crd.spec = old.spec;
      },
      validateUpdate: (crd) => validateNames(crd.status?.acceptedNames, 'status.acceptedNames'),
    },
  ],
  columns: [nameColumn, createdAtColumn],
});
