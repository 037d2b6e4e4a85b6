import type { ResourceDefinition } from '@gantry/apimachinery';
import { horizontalPodAutoscalersV1 } from './horizontal-pod-autoscaler-v1.ts';
import { horizontalPodAutoscalers } from './horizontal-pod-autoscaler.ts';

/** The kinds of `autoscaling`, in discovery's order. */
export const autoscalingKinds: readonly ResourceDefinition[] = [horizontalPodAutoscalers, horizontalPodAutoscalersV1];
