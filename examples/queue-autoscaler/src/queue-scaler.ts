import { defineKind, type ObjectOf } from '@gantry/operator';
import { z } from 'zod';

/** Scales a Deployment by the length of a list in Redis. The fields are those of KEDA's ScaledObject and of its scaler `redis`. */
export const QUEUE_SCALERS = defineKind({
  group: 'queue.example.com',
  version: 'v1',
  kind: 'QueueScaler',
  spec: z.object({
    scaleTargetRef: z.object({ name: z.string().min(1) }),
    /** Host and port of the server. */
    address: z
      .string()
      .max(260)
      .regex(/^[A-Za-z0-9.-]+:[0-9]{1,5}$/),
    listName: z.string().min(1).max(1024),
    /** Items for each replica. */
    listLength: z.int().min(1).default(5),
    minReplicaCount: z.int().min(0).default(0),
    maxReplicaCount: z.int().min(1).default(100),
    /** Seconds. */
    pollingInterval: z.int().min(1).max(3600).default(30),
    /** Seconds. */
    cooldownPeriod: z.int().min(0).default(300),
  }),
  status: z.object({ lowerSince: z.string().optional(), conditions: z.array(z.any()).optional() }),
  rules: [
    {
      rule: 'self.spec.minReplicaCount <= self.spec.maxReplicaCount',
      message: 'minReplicaCount is more than maxReplicaCount',
    },
  ],
  columns: [
    { name: 'Deployment', path: '.spec.scaleTargetRef.name' },
    { name: 'Ready', path: '.status.conditions[?(@.type=="Ready")].status' },
  ],
});
export type QueueScaler = ObjectOf<typeof QUEUE_SCALERS>;
