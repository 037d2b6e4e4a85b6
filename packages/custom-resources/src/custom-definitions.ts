import { compileSchemaRules } from './rules/schema-rules.ts';
import {
  apiVersionOf,
  cloneJson,
  compareVersions,
  type CustomResourceColumnDefinition,
  type CustomResourceDefinition,
  type CustomResourceDefinitionVersion,
  type KubeObject,
  parseApiVersion,
} from '@gantry/objects';
import {
  type Column,
  type CustomCodec,
  describedAs,
  formatAge,
  type JsonSchema,
  nameColumn,
  type ResourceDefinition,
  type StorageForm,
  type SubresourceDefinition,
} from '@gantry/apimachinery';
import { createCodec } from './codec.ts';
import { type CompileRules, CustomRules } from './custom-rules.ts';
import { parseJsonPath } from './json-path.ts';
import { resourceType } from './resource-type.ts';
import { dropStatus, keepAllButStatus, keepStatus } from './status-hooks.ts';

/** Calls the webhook of a definition to convert objects to a version. Rejects with StatusError. */
export type ConvertRemotely = (objects: readonly KubeObject[], apiVersion: string) => Promise<readonly KubeObject[]>;

export interface CustomHooks {
  readonly compileRules?: CompileRules;
  /** Required if the definition converts by webhook. */
  readonly convert?: ConvertRemotely;
}

interface Version {
  readonly name: string;
  readonly apiVersion: string;
  readonly schema: JsonSchema;
  readonly codec: CustomCodec;
  readonly spec: CustomResourceDefinitionVersion;
}

/** The resources of a CustomResourceDefinition: one per served version, with the accepted names. */
export function customDefinitions(crd: CustomResourceDefinition, hooks: CustomHooks): readonly ResourceDefinition[] {
  const { group, versions } = crd.spec;
  const all = versions.map((spec): Version => {
    const schema = (spec.schema?.openAPIV3Schema ?? { 'x-kubernetes-preserve-unknown-fields': true }) as JsonSchema;
    const preserves = crd.spec.preserveUnknownFields === true;
    const codec = createCodec(schema, preserves);
    return { name: spec.name, apiVersion: apiVersionOf({ group, version: spec.name }), schema, codec, spec };
  });
  const made = new Map<string, ResourceDefinition>();
  // Versions that are not served are made when managed fields name them.
  const find = (name: string): ResourceDefinition | undefined => {
    const version = all.find((one) => one.name === name);
    if (version === undefined || made.has(name)) return made.get(name);
    const definition = { ...definitionOf(crd, version, all, hooks), sibling: find };
    made.set(name, definition);
    return definition;
  };
  return all.filter(({ spec }) => spec.served).flatMap(({ name }) => find(name) ?? []);
}

function definitionOf(
  crd: CustomResourceDefinition,
  version: Version,
  all: readonly Version[],
  hooks: CustomHooks,
): ResourceDefinition {
  const { group, scope } = crd.spec;
  const names = crd.status?.acceptedNames ?? crd.spec.names;
  const { schema, spec, apiVersion } = version;
  const { kind, plural } = names;
  const rules = new CustomRules({
    schema,
    apiVersion,
    kind,
    scale: spec.subresources?.scale,
    rules: (hooks.compileRules ?? compileSchemaRules)(schema),
  });
  const hasStatus = spec.subresources?.status !== undefined;
  return {
    group,
    version: version.name,
    kind,
    ...(names.listKind === undefined || names.listKind === '' ? {} : { listKind: names.listKind }),
    resource: plural,
    singular: names.singular ?? '',
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    namespaced: scope === 'Namespaced',
    schema: resourceType(schema, version.codec),
    publishedSchema: schema,
    requestWarnings: deprecationWarnings(version, crd),
    storage: storageForm(crd, version, all, hooks),
    // Kubernetes' order.
    verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
    strategy: {
      finalizers: 'qualified',
      hasGeneration: true,
      ...(hasStatus ? {} : { generationWith: 'status' as const }),
      metadataOnUpdate: 'change',
      allowUnconditionalUpdate: false,
      ...(hasStatus ? { prepareForCreate: dropStatus, prepareForUpdate: keepStatus } : {}),
      validateCreate: (object) => rules.validateNew(object),
      validateUpdate: (object, old) => rules.validateChange(object, old),
    },
    subresources: subresourcesOf(version, rules),
    columns: customColumns(spec.additionalPrinterColumns ?? []),
    selectableFields: Object.fromEntries(
      (spec.selectableFields ?? []).map(({ jsonPath }) => {
        const read = parseJsonPath(jsonPath);
        return [jsonPath.replace(/^\./, ''), (object: KubeObject) => selectable(read(object))];
      }),
    ),
    stored: true,
  };
}

function selectable(value: unknown): string {
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value);
}

function deprecationWarnings({ spec, apiVersion }: Version, crd: CustomResourceDefinition): readonly string[] {
  if (spec.deprecated !== true) return [];
  if (spec.deprecationWarning !== undefined) return [spec.deprecationWarning];
  const { group, names, versions } = crd.spec;
  // As in Kubernetes: the newest served version that is not deprecated, if it is newer than this one.
  const [better] = versions
    .filter(({ name, served, deprecated }) => served && deprecated !== true && compareVersions(name, spec.name) < 0)
    .map(({ name }) => name)
    .sort(compareVersions);
  const advice = better === undefined ? '' : `; use ${group}/${better} ${names.kind}`;
  return [`${apiVersion} ${names.kind} is deprecated${advice}`];
}

function subresourcesOf({ spec }: Version, rules: CustomRules): readonly SubresourceDefinition[] {
  const { status, scale } = spec.subresources ?? {};
  const out: SubresourceDefinition[] = [];
  if (status !== undefined) {
    out.push({
      name: 'status',
      verbs: ['get', 'patch', 'update'],
      requiresVersion: true,
      prepareForUpdate: keepAllButStatus,
      validateUpdate: (object, old) => rules.validateChange(object, old, 'status'),
    });
  }
  if (scale !== undefined) {
    out.push({
      name: 'scale',
      group: 'autoscaling',
      version: 'v1',
      kind: 'Scale',
      verbs: ['get', 'patch', 'update'],
      validateUpdate: (object, old) => rules.validateChange(object, old),
      scale: {
        specReplicas: scale.specReplicasPath,
        statusReplicas: scale.statusReplicasPath,
        selector: scale.labelSelectorPath ?? '',
        checks: 'own',
      },
    });
  }
  return out;
}

function storageForm(
  crd: CustomResourceDefinition,
  own: Version,
  all: readonly Version[],
  { convert }: CustomHooks,
): StorageForm {
  const { group } = crd.spec;
  const stored = all.find(({ spec }) => spec.storage) ?? own;
  const isRemote = crd.spec.conversion?.strategy === 'Webhook' && convert !== undefined;
  const read = (object: KubeObject): KubeObject => readStored(object, all, own);
  const form: StorageForm = {
    group,
    version: stored.name,
    resource: crd.spec.names.plural,
    toStored: (object) => renamed(object, own, stored),
    fromStored: (object) => renamed(read(object), own, own),
  };
  if (!isRemote) return form;
  return {
    ...form,
    remote: {
      convert: async (object, apiVersion) => {
        const [converted = object] = await convert([object], apiVersion);
        return converted;
      },
      toStored: async (object) => {
        if (stored === own) return object;
        const [converted = object] = await convert([object], stored.apiVersion);
        return renamed(converted, stored, stored);
      },
      fromStored: async (objects) => {
        const all = objects.map(read);
        const others = all.filter((object) => object.apiVersion !== own.apiVersion);
        if (others.length === 0) return all;
        const converted = await convert(others, own.apiVersion);
        return all.map((object) => {
          const at = others.indexOf(object);
          return at < 0 ? object : renamed(converted[at] ?? object, own, own);
        });
      },
    },
  };
}

/** A stored object with the defaults of the version in which it is stored. */
function readStored(object: KubeObject, all: readonly Version[], fallback: Version): KubeObject {
  const { version } = parseApiVersion(object.apiVersion);
  const { codec } = all.find(({ name }) => name === version) ?? fallback;
  const value = codec.readStored(cloneJson(object)) as KubeObject;
  value.metadata.generation ??= 1;
  return value;
}

/** An object in another version, without fields that the other version does not have. */
function renamed(object: KubeObject, from: Version, to: Version): KubeObject {
  if (from === to && object.apiVersion === to.apiVersion) return object;
  const copy = { ...cloneJson(object), apiVersion: to.apiVersion };
  return to.codec.convert(copy) as KubeObject;
}

/** The column of definitions without columns. */
const AGE: Column = {
  name: 'Age',
  type: 'date',
  description: describedAs('meta.v1.ObjectMeta', 'creationTimestamp'),
  priority: 0,
  value: (object, now) => formatAge(object.metadata.creationTimestamp, now),
};

/** The columns of a definition, after the name. */
function customColumns(definitions: readonly CustomResourceColumnDefinition[]): readonly Column[] {
  if (definitions.length === 0) return [nameColumn, AGE];
  return [nameColumn, ...definitions.map(customColumn)];
}

function customColumn(definition: CustomResourceColumnDefinition): Column {
  const { name, jsonPath, format, priority = 0 } = definition;
  const read = parseJsonPath(jsonPath);
  const type = definition.type as Column['type'];
  return {
    name,
    type,
    format,
    description: definition.description ?? `Custom resource definition column (in JSONPath format): ${jsonPath}`,
    priority,
    value: (object, now) => cell(read(object), type, now),
  };
}

/** Typed as a number, like all integers that a double cannot hold. */
const exact = (value: unknown) => (typeof value === 'bigint' ? (value as unknown as number) : null);

function cell(value: unknown, type: Column['type'], now: number): string | number | boolean | null {
  if (value === undefined) return null;
  switch (type) {
    case 'string':
      if (value === null) return '<nil>';
      return typeof value === 'object' ? JSON.stringify(value) : String(value);
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : exact(value);
    case 'number':
      return typeof value === 'number' ? value : exact(value);
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      if (typeof value !== 'string') return null;
      return Number.isNaN(Date.parse(value)) ? '<invalid>' : formatAge(value, now);
  }
}
