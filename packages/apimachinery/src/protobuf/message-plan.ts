import { AssertionError } from '@gantry/base';
import { publishedSchemas } from '../schema/published-schema.ts';
import { type Field, hasSchema, schemaOf, type StructType } from '../schema/type-schema.ts';

import publishedMessages from '../../schemas/protobuf.json' with { type: 'json' };

/** How a field's value is encoded on the wire. */
export type Codec =
  | { readonly kind: 'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'double' }
  | { readonly kind: 'time' | 'microTime' | 'quantity' | 'intOrString' | 'rawJson' }
  /** A named list of strings (`ExtraValue`), wrapped in a message. */
  | { readonly kind: 'stringList' }
  /** A JSON schema, or one of its alternatives: a list of schemas, a boolean, or a list of strings. */
  | { readonly kind: 'schemaOr'; readonly or: 'schemas' | 'bool' | 'strings'; readonly plan: MessagePlan }
  | { readonly kind: 'message'; readonly plan: MessagePlan }
  | { readonly kind: 'map'; readonly values: Codec };

export interface FieldPlan {
  readonly number: number;
  /** The field's name in JSON; '' for a message whose fields are inlined into the parent's JSON. */
  readonly json: string;
  readonly codec: Codec;
  readonly repeated: boolean;
  /** Written as the zero value when absent, because Go holds the field by value. */
  readonly always: boolean;
}

/** One message. Its fields are read from the tables on first use. */
export class MessagePlan {
  readonly message: string;
  readonly #struct: StructType | undefined;
  #fields: readonly FieldPlan[] | undefined;
  #byNumber: ReadonlyMap<number, FieldPlan> | undefined;

  constructor(message: string, struct: StructType | undefined) {
    this.message = message;
    this.#struct = struct;
  }

  /** The fields in the order of their numbers. */
  get fields(): readonly FieldPlan[] {
    this.#fields ??= planFields(this.message, this.#struct);
    return this.#fields;
  }

  byNumber(number: number): FieldPlan | undefined {
    this.#byNumber ??= new Map(this.fields.map((field) => [field.number, field]));
    return this.#byNumber.get(number);
  }
}

const PREFIXES: readonly (readonly [string, string])[] = [
  ['meta.v1.', 'k8s.io.apimachinery.pkg.apis.meta.v1.'],
  ['apiextensions.', 'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.'],
  ['apiregistration.', 'k8s.io.kube_aggregator.pkg.apis.apiregistration.'],
];
const SPECIAL: Readonly<Record<string, Codec['kind']>> = {
  'k8s.io.apimachinery.pkg.apis.meta.v1.Time': 'time',
  'k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime': 'microTime',
  'k8s.io.apimachinery.pkg.api.resource.Quantity': 'quantity',
  'k8s.io.apimachinery.pkg.util.intstr.IntOrString': 'intOrString',
  'k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1': 'rawJson',
  'k8s.io.apimachinery.pkg.runtime.RawExtension': 'rawJson',
  'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSON': 'rawJson',
};
const SCHEMA_OR: Readonly<Record<string, 'schemas' | 'bool' | 'strings'>> = {
  JSONSchemaPropsOrArray: 'schemas',
  JSONSchemaPropsOrBool: 'bool',
  JSONSchemaPropsOrStringArray: 'strings',
};
/** Fields of messages without a published schema that Go holds by pointer. */
const POINTERS: ReadonlySet<string> = new Set([
  'k8s.io.api.apidiscovery.v2.APIResourceDiscovery.responseKind',
  'k8s.io.api.apidiscovery.v2.APISubresourceDiscovery.responseKind',
]);
const SCALARS: ReadonlySet<string> = new Set(['string', 'bytes', 'bool', 'int32', 'int64', 'double']);

const plans = new Map<string, MessagePlan>();

/** The plan of the message for a kind's objects; undefined when there is none. */
export function planOfKind(name: KindName): MessagePlan | undefined {
  const schema = schemaOfKind(name) ?? UNPUBLISHED_KINDS.get(`${name.apiVersion} ${name.kind}`);
  if (schema === undefined) return undefined;
  const message = messageOfSchema(schema);
  return tableOf(message) === undefined ? undefined : planOf(message);
}

function tableOf(message: string): Readonly<Record<string, readonly (number | string)[]>> | undefined {
  return publishedMessages[message] ?? UNPUBLISHED_MESSAGES[message];
}

function messageOfSchema(schema: string): string {
  const known = PREFIXES.find(([prefix]) => schema.startsWith(prefix));
  return known === undefined ? `k8s.io.api.${schema}` : schema.replace(known[0], known[1]);
}

function schemaOfMessage(message: string): string {
  const known = PREFIXES.find(([, prefix]) => message.startsWith(prefix));
  return known === undefined ? message.replace('k8s.io.api.', '') : message.replace(known[1], known[0]);
}

function planOf(message: string): MessagePlan {
  const known = plans.get(message);
  if (known !== undefined) return known;
  const schema = schemaOfMessage(message);
  const plan = new MessagePlan(message, hasSchema(schema) ? schemaOf(schema) : undefined);
  plans.set(message, plan);
  return plan;
}

function planFields(message: string, struct: StructType | undefined): readonly FieldPlan[] {
  const table = tableOf(message);
  if (table === undefined) throw new AssertionError(`no protobuf message ${message}`);
  const home = message.slice(0, message.lastIndexOf('.') + 1);
  const plans = Object.entries(table).map(([name, [number, type, repeated]]) =>
    planField({
      home,
      struct,
      name,
      number: Number(number),
      type: String(type),
      repeated: repeated === 'repeated',
      isPointer: POINTERS.has(`${message}.${name}`),
    }),
  );
  return plans.sort((a, b) => a.number - b.number);
}

interface RawField {
  readonly home: string;
  readonly struct: StructType | undefined;
  readonly name: string;
  readonly number: number;
  readonly type: string;
  readonly repeated: boolean;
  readonly isPointer: boolean;
}

function planField({ home, struct, name, number, type, repeated, isPointer }: RawField): FieldPlan {
  const field = struct === undefined ? undefined : jsonField(struct, name);
  if (struct !== undefined && field === undefined && !SCALARS.has(type) && !repeated) {
    const inner = new MessagePlan(fullName(type, home), struct);
    return { number, json: '', codec: { kind: 'message', plan: inner }, repeated, always: true };
  }
  return {
    number,
    json: field?.name ?? name,
    codec: codecOf(type, home),
    repeated,
    always:
      !repeated &&
      !type.startsWith('map<') &&
      (field === undefined ? type !== 'bytes' && !isPointer : field.held === 'value'),
  };
}

/** The JSON field for a protobuf name. Names are equal except for capitals and the prefixes `x-kubernetes-` and `$` of JSON schemas. */
function jsonField(struct: StructType, name: string): Field | undefined {
  const exact = struct.fields.get(name);
  if (exact !== undefined) return exact;
  const extension = name.startsWith('xKubernetes')
    ? name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    : `$${name}`;
  const lower = name.toLowerCase();
  return struct.fields.get(extension) ?? [...struct.fields.values()].find((f) => f.name.toLowerCase() === lower);
}

function fullName(type: string, home: string): string {
  return type.replace(/^\./, '').startsWith('k8s.io.') ? type.replace(/^\./, '') : home + type;
}

function codecOf(type: string, home: string): Codec {
  const map = /^map<string, (.+)>$/.exec(type)?.[1];
  if (map !== undefined) return { kind: 'map', values: codecOf(map, home) };
  if (SCALARS.has(type)) return { kind: type as 'string' };
  const message = fullName(type, home);
  const special = SPECIAL[message];
  if (special !== undefined) return { kind: special as 'time' };
  const or = SCHEMA_OR[message.slice(message.lastIndexOf('.') + 1)];
  if (or !== undefined) return { kind: 'schemaOr', or, plan: planOf(fullName('JSONSchemaProps', home)) };
  if (/\.(ExtraValue|Verbs)$/.test(message)) return { kind: 'stringList' };
  return { kind: 'message', plan: planOf(message) };
}

interface KindName {
  readonly apiVersion: string;
  readonly kind: string;
}

const schemasByKind = new Map<string, string>();

/** The short name of the schema of a kind (`apps/v1`, `Deployment`), meta kinds included; undefined when there is none. */
export function schemaOfKind({ apiVersion, kind }: KindName): string | undefined {
  if (schemasByKind.size === 0) {
    for (const [name, schema] of Object.entries(publishedSchemas)) {
      for (const gvk of schema['x-group-version-kind'] ?? [])
        schemasByKind.set(`${gvk.group === '' ? '' : `${gvk.group}/`}${gvk.version} ${gvk.kind}`, name);
    }
    for (const kind of ['PartialObjectMetadata', 'PartialObjectMetadataList'])
      schemasByKind.set(`meta.k8s.io/v1 ${kind}`, `meta.v1.${kind}`);
    for (const kind of ['APIVersions', 'APIGroupList', 'APIGroup', 'APIResourceList'])
      schemasByKind.set(`v1 ${kind}`, `meta.v1.${kind}`);
    schemasByKind.set('apidiscovery.k8s.io/v2 APIGroupDiscoveryList', 'apidiscovery.v2.APIGroupDiscoveryList');
  }
  return schemasByKind.get(`${apiVersion} ${kind}`) ?? (OPTIONS.has(kind) ? `meta.v1.${kind}` : undefined);
}

/** Kinds that exist in every group version: clients use the version of the resource of their request. */
const OPTIONS: ReadonlySet<string> = new Set(['CreateOptions', 'DeleteOptions', 'PatchOptions', 'UpdateOptions']);

const HOME = 'k8s.io.api.certificates.v1beta1.';
const META = 'k8s.io.apimachinery.pkg.apis.meta.v1.';

/** Messages of Kubernetes' kinds whose schemas are not published, in the form of schemas/protobuf.json. */
const UNPUBLISHED_MESSAGES: Readonly<Record<string, Readonly<Record<string, readonly (number | string)[]>>>> = {
  [`${HOME}ClusterTrustBundle`]: { metadata: [1, `${META}ObjectMeta`], spec: [2, 'ClusterTrustBundleSpec'] },
  [`${HOME}ClusterTrustBundleList`]: {
    metadata: [1, `${META}ListMeta`],
    items: [2, 'ClusterTrustBundle', 'repeated'],
  },
  [`${HOME}ClusterTrustBundleSpec`]: { signerName: [1, 'string'], trustBundle: [2, 'string'] },
};

/** Short names for the missing schemas of these kinds, by version and kind. */
const UNPUBLISHED_KINDS: ReadonlyMap<string, string> = new Map(
  ['ClusterTrustBundle', 'ClusterTrustBundleList'].map((kind) => [
    `certificates.k8s.io/v1beta1 ${kind}`,
    `certificates.v1beta1.${kind}`,
  ]),
);
