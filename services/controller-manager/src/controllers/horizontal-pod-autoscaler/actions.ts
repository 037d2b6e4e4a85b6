import type { HorizontalPodAutoscalerStatus as Status } from '@gantry/objects';
import type { Memory } from './memory.ts';

/** What a plan does about one autoscaler. */
export type Action =
  | { readonly kind: 'event'; readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string }
  | { readonly kind: 'remember'; readonly memory: Memory }
  /** For the metrics of this controller: what the metric of this index asks for. */
  | {
      readonly kind: 'computed';
      readonly index: number;
      readonly action: 'scale_up' | 'scale_down' | 'none';
      readonly error: 'spec' | 'internal' | 'none';
    }
  /** Where it fails, `failed` is done, and nothing after it. */
  | {
      readonly kind: 'rescale';
      readonly replicas: number;
      readonly reason: string;
      readonly failed: (message: string) => readonly Action[];
    }
  | { readonly kind: 'updateStatus'; readonly status: Status };
