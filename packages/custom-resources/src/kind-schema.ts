import { atOnce } from '@gantry/base';
import type { CustomCodec, JsonSchema, ResourceDefinition, StructType } from '@gantry/apimachinery';
import { apiVersionOf, type FieldError, type KubeObject, type Resource } from '@gantry/objects';
import { createCodec } from './codec.ts';
import { CustomRules } from './custom-rules.ts';
import { resourceType } from './resource-type.ts';
import { compileSchemaRules } from './rules/schema-rules.ts';
import { dropStatus, keepAllButStatus, keepStatus } from './status-hooks.ts';

/** The parts of a definition that follow from a JSON schema. The kind's own rules run only on objects that match the schema. */
export interface KindSchema<T extends KubeObject> extends Required<Pick<ResourceDefinition, 'publishedSchema'>> {
  readonly schema: StructType & { readonly custom: CustomCodec };
  /** Validates a new object by the schema, then by the kind's own rules. */
  readonly validateNew: (object: T, own?: (object: T) => readonly FieldError[]) => readonly FieldError[];
  /** Validates a changed object by the schema, then by the kind's own rules. */
  readonly validateChange: (
    object: T,
    old: T,
    own?: (object: T, old: T) => readonly FieldError[],
  ) => readonly FieldError[];
  /** Validates a status update by the schema. */
  readonly validateStatus: (object: T, old: T) => readonly FieldError[];
  /** `prepareForCreate` of a kind with a status subresource. */
  readonly dropStatus: (object: T) => void;
  /** `prepareForUpdate` of a kind with a status subresource. */
  readonly keepStatus: (object: T, old: T) => void;
  /** `prepareForUpdate` of the status subresource. */
  readonly keepAllButStatus: (object: T, old: T) => void;
}

/**
 * The schema of a built-in kind that Kubernetes does not publish. Its objects are decoded, defaulted, pruned, validated and described by a
 * structural schema, like custom resources. They have no protobuf form unless the definition says so.
 */
export function kindSchema<T extends KubeObject>(of: Resource<T>, schema: JsonSchema): KindSchema<T> {
  const codec = createCodec(schema, false);
  const rules = new CustomRules({
    schema,
    apiVersion: apiVersionOf(of),
    kind: of.kind,
    scale: undefined,
    rules: compileSchemaRules(schema),
  });
  return {
    schema: { ...resourceType(schema, codec), custom: codec },
    publishedSchema: schema,
    validateNew: (object, own) => firstOf(atOnce(rules.validateNew(object)), () => own?.(object)),
    validateChange: (object, old, own) => firstOf(atOnce(rules.validateChange(object, old)), () => own?.(object, old)),
    validateStatus: (object, old) => atOnce(rules.validateChange(object, old, 'status')),
    dropStatus,
    keepStatus,
    keepAllButStatus,
  };
}

/** The errors of the schema, else those of the kind's own rules, which may only read what the schema guarantees. */
function firstOf(errors: readonly FieldError[], own: () => readonly FieldError[] | undefined): readonly FieldError[] {
  return errors.length > 0 ? errors : (own() ?? []);
}
