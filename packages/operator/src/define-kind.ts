import type { CustomResourceDefinition, KubeObject, Resource } from '@gantry/objects';
import type { z } from 'zod';
import { KindError, type StructuralSchema, structuralSchema } from './structural-schema.ts';

/** A rule in CEL that the API server checks; `self` is the value that it belongs to. */
export interface Rule {
  readonly rule: string;
  readonly message: string;
}

/** A column of `kubectl get`. */
export interface Column {
  readonly name: string;
  /** A path in the object, such as `.spec.schedule`. */
  readonly path: string;
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly description?: string;
  /** 0 is always shown, 1 with `-o wide`; 0 when absent. */
  readonly priority?: number;
}

/** A custom kind. */
export interface KindOptions<S extends z.ZodObject, U extends z.ZodObject> {
  /** A DNS name that you own, such as `example.com`. */
  readonly group: string;
  /** Such as `v1alpha1`. */
  readonly version: string;
  readonly kind: string;
  /** The name of the resource; the kind in lower case with an `s` when absent. */
  readonly plural?: string;
  /** `Namespaced` when absent. */
  readonly scope?: 'Namespaced' | 'Cluster';
  readonly spec: S;
  /** Written by the controller through the status subresource, which exists only with it. */
  readonly status?: U;
  readonly description?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Rules on the whole object: `self.spec`, `self.status`, `self.metadata.name`. Those of one field are set by `withRules`. */
  readonly rules?: readonly Rule[];
  readonly columns?: readonly Column[];
}

/** An object of a custom kind as the API server returns it: defaults are set. */
export type CustomObject<S, U> = KubeObject & { spec: S; status?: U };

/** The resource of a custom kind, with its definition. */
export interface CustomKind<T extends KubeObject> extends Resource<T> {
  /** What `kubectl apply` takes. */
  readonly definition: CustomResourceDefinition;
}

/** The type of the objects of a resource: `type Backup = ObjectOf<typeof BACKUPS>`. */
export type ObjectOf<R> = R extends Resource<infer T> ? T : never;

/**
 * Defines a custom kind once, by Zod: the type of its objects, the structural schema with rules in CEL, the columns of kubectl and the
 * CustomResourceDefinition. Throws KindError, which names the field, for what structural schemas cannot say.
 *
 * @example
 * ```ts
 * export const BACKUPS = defineKind({
 *   group: 'example.com',
 *   version: 'v1',
 *   kind: 'Backup',
 *   spec: z.object({ schedule: z.string().min(1), keep: z.int().min(1).default(3) }),
 *   status: z.object({ lastRun: z.string().optional() }),
 *   rules: [{ rule: 'self.spec.keep <= 100', message: 'keeps at most 100' }],
 *   columns: [{ name: 'Schedule', path: '.spec.schedule' }],
 * });
 * export type Backup = ObjectOf<typeof BACKUPS>; // backup.spec.keep: number
 * console.log(JSON.stringify(BACKUPS.definition)); // kubectl apply -f -
 * ```
 */
export function defineKind<S extends z.ZodObject, U extends z.ZodObject = z.ZodObject<Record<never, never>>>(
  options: KindOptions<S, U>,
): CustomKind<CustomObject<z.output<S>, z.output<U>>> {
  const { group, version, kind, scope = 'Namespaced', plural = `${kind.toLowerCase()}s` } = options;
  if (!/^[A-Z][A-Za-z0-9]*$/.test(kind)) throw new KindError(`kind: ${JSON.stringify(kind)} must be in PascalCase`);
  if (!/^[a-z][a-z0-9-]*$/.test(plural)) throw new KindError(`plural: ${JSON.stringify(plural)} must be in lower case`);
  if (!/^[a-z0-9.-]+\.[a-z0-9.-]+$/.test(group))
    throw new KindError(`group: ${JSON.stringify(group)} must be a DNS name`);
  if (!/^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$/.test(version)) {
    throw new KindError(`version: ${JSON.stringify(version)} must be like v1, v1beta1 or v1alpha1`);
  }
  return {
    group,
    version,
    kind,
    resource: plural,
    namespaced: scope === 'Namespaced',
    definition: definitionOf(options, plural, scope),
  };
}

/**
 * A field with rules in CEL, where `self` is the field.
 *
 * @example
 * ```ts
 * const port = withRules(z.int(), [{ rule: 'self != 22', message: 'is that of SSH' }]);
 * ```
 */
export function withRules<S extends z.ZodType>(schema: S, rules: readonly Rule[]): S {
  return schema.meta({ ...schema.meta(), 'x-kubernetes-validations': rules });
}

function definitionOf<S extends z.ZodObject, U extends z.ZodObject>(
  options: KindOptions<S, U>,
  plural: string,
  scope: 'Namespaced' | 'Cluster',
): CustomResourceDefinition {
  const { group, version, kind, status, shortNames, categories, columns = [] } = options;
  const names = {
    plural,
    singular: kind.toLowerCase(),
    kind,
    listKind: `${kind}List`,
    ...(shortNames === undefined ? {} : { shortNames: [...shortNames] }),
    ...(categories === undefined ? {} : { categories: [...categories] }),
  };
  const additionalPrinterColumns = columns.map(({ path, type = 'string', ...rest }) => ({
    ...rest,
    type,
    jsonPath: path,
  }));
  const of = {
    name: version,
    served: true,
    storage: true,
    schema: { openAPIV3Schema: schemaOf(options) },
    ...(status === undefined ? {} : { subresources: { status: {} } }),
    ...(columns.length === 0 ? {} : { additionalPrinterColumns }),
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope, names, versions: [of] },
  };
}

function schemaOf<S extends z.ZodObject, U extends z.ZodObject>(options: KindOptions<S, U>): StructuralSchema {
  const { spec, status, description, rules = [] } = options;
  const specSchema = structuralSchema('spec', spec);
  const needsSpec = ((specSchema['required'] ?? []) as readonly string[]).length > 0;
  // Without it, an object without a spec would not get the defaults of its fields.
  if (!needsSpec && specSchema['default'] === undefined) specSchema['default'] = {};
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: specSchema,
      ...(status === undefined ? {} : { status: structuralSchema('status', status) }),
    },
    ...(needsSpec ? { required: ['spec'] } : {}),
    ...(rules.length === 0 ? {} : { 'x-kubernetes-validations': rules.map((rule) => ({ ...rule })) }),
  };
}
