import type { ResourceDefinition } from '@gantry/apimachinery';
import { nodeMetrics, podMetrics } from './usage-metrics.ts';

/**
 * The resource metrics of metrics.k8s.io. In Kubernetes, an extension server provides them. Our apiserver serves them in addition to the
 * built-in kinds, if there are agents that measure.
 */
export const metricsKinds: readonly ResourceDefinition[] = [nodeMetrics, podMetrics];
