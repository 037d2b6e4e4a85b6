import { ageColumn, column, defineResource, type JsonSchema, nameColumn } from '@gantry/apimachinery';
import { kindSchema } from '@gantry/custom-resources';
import type { KubeObject, Resource } from '@gantry/objects';

/** Quantities by resource: `cpu` and `memory`. */
export type ResourceUsage = Readonly<Record<string, string>>;

/** The time of a measurement: over `window`, which ends at `timestamp`. */
interface Measured extends KubeObject {
  timestamp: string;
  /** As Go writes a duration: `10.2s`. */
  window: string;
}

/** metrics.k8s.io/v1beta1 NodeMetrics. */
export interface NodeMetrics extends Measured {
  usage: ResourceUsage;
}

/** metrics.k8s.io/v1beta1 PodMetrics. */
export interface PodMetrics extends Measured {
  containers: { name: string; usage: ResourceUsage }[];
}

const GROUP_VERSION = { group: 'metrics.k8s.io', version: 'v1beta1' } as const;

export const NODE_METRICS: Resource<NodeMetrics> = {
  ...GROUP_VERSION,
  resource: 'nodes',
  kind: 'NodeMetrics',
  namespaced: false,
};
export const POD_METRICS: Resource<PodMetrics> = {
  ...GROUP_VERSION,
  resource: 'pods',
  kind: 'PodMetrics',
  namespaced: true,
};

const USAGE: JsonSchema = {
  type: 'object',
  description: 'The memory usage is the memory working set.',
  additionalProperties: { type: 'string' },
};
const MEASURED: Readonly<Record<string, JsonSchema>> = {
  timestamp: { type: 'string', format: 'date-time', description: 'The end of the window of the measurement.' },
  window: { type: 'string', description: 'How long was measured.' },
};

function schemaOf(description: string, properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const all = { ...MEASURED, ...properties };
  return { type: 'object', description, required: Object.keys(all), properties: all };
}

const nodeSchema = kindSchema(NODE_METRICS, schemaOf('NodeMetrics is what a node uses.', { usage: USAGE }));
const podSchema = kindSchema(
  POD_METRICS,
  schemaOf('PodMetrics is what the containers of a pod use.', {
    containers: {
      type: 'array',
      description: 'The usage of each container.',
      items: {
        type: 'object',
        required: ['name', 'usage'],
        properties: { name: { type: 'string', description: 'The name of the container.' }, usage: USAGE },
      },
    },
  }),
);

/** NodeMetrics: the usage of each node, requested from its agent. Not stored. */
export const nodeMetrics = defineResource(NODE_METRICS, {
  schema: nodeSchema.schema,
  publishedSchema: nodeSchema.publishedSchema,
  // Like metrics-server, which has no singular name.
  singular: '',
  verbs: ['get', 'list'],
  strategy: {},
  columns: [
    nameColumn,
    column('CPU', 'CPU that is used', ({ usage }) => usage.cpu ?? ''),
    column('Memory', 'Memory that is used', ({ usage }) => usage.memory ?? ''),
    column('Window', 'How long was measured', ({ window }) => window),
    ageColumn,
  ],
  stored: false,
});

/** PodMetrics: the usage of the containers of each pod, requested from the agents. Not stored. */
export const podMetrics = defineResource(POD_METRICS, {
  schema: podSchema.schema,
  publishedSchema: podSchema.publishedSchema,
  singular: '',
  verbs: ['get', 'list'],
  strategy: {},
  columns: [
    nameColumn,
    column('CPU', 'CPU that is used, by container', ({ containers }) => ofEach(containers, 'cpu')),
    column('Memory', 'Memory that is used, by container', ({ containers }) => ofEach(containers, 'memory')),
    column('Window', 'How long was measured', ({ window }) => window),
    ageColumn,
  ],
  stored: false,
});

function ofEach(containers: PodMetrics['containers'], resource: string): string {
  return containers.map(({ usage }) => usage[resource] ?? '').join(',');
}
