import { defineKind, type ObjectOf } from '@gantry/operator';
import { z } from 'zod';

/** What users write, and what the controller reports. */
export const GREETINGS = defineKind({
  group: 'example.com',
  version: 'v1alpha1',
  kind: 'Greeting',
  spec: z.object({
    message: z.string().min(1).max(1000),
    copies: z.int().min(0).max(10).default(1),
  }),
  status: z.object({ conditions: z.array(z.any()).optional() }),
  columns: [
    { name: 'Copies', path: '.spec.copies', type: 'integer' },
    { name: 'Ready', path: '.status.conditions[?(@.type=="Ready")].status' },
  ],
});
export type Greeting = ObjectOf<typeof GREETINGS>;
