import goFields from '../../schemas/go-fields.json' with { type: 'json' };
import kubernetes from '../../schemas/kubernetes.json' with { type: 'json' };

/** A schema as Kubernetes publishes it, with references by short name and `x-kubernetes-` shortened to `x-`. */
export interface PublishedSchema {
  readonly type?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, PublishedSchema>>;
  readonly additionalProperties?: PublishedSchema;
  readonly items?: PublishedSchema;
  readonly required?: readonly string[];
  readonly oneOf?: readonly PublishedSchema[];
  readonly ref?: string;
  readonly 'x-list-type'?: 'map' | 'set' | 'atomic';
  readonly 'x-list-map-keys'?: readonly string[];
  readonly 'x-map-type'?: 'atomic' | 'granular';
  readonly 'x-patch-strategy'?: string;
  readonly 'x-patch-merge-key'?: string;
  readonly 'x-group-version-kind'?: readonly { group: string; version: string; kind: string }[];
  readonly 'x-unions'?: readonly unknown[];
}

/** Every published schema by its short name: `apps.v1.Deployment`, `meta.v1.ObjectMeta`. */
export const publishedSchemas = kubernetes as Readonly<Record<string, PublishedSchema>>;

/** How Kubernetes' Go struct holds a field: the Go type, then `,omitempty` and `,omitzero`; '' when unknown. */
export function goFieldOf(schema: string, field: string): string {
  return goFields[schema]?.[field] ?? '';
}
