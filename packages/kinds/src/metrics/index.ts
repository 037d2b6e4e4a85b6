import type { ResourceDefinition } from '@gantry/apimachinery';
import { nodeMetrics, podMetrics } from './usage-metrics.ts';

/**
 * The resource metrics of metrics.k8s.io. Kubernetes itself does not have them but by an extension server: an apiserver serves them in addition to the
 * built-in kinds, where there are agents that measure.
 */
export const metricsKinds: readonly ResourceDefinition[] = [nodeMetrics, podMetrics];
