import { defineKind, type ObjectOf } from '@gantry/operator';
import { z } from 'zod';

/** The kind of the benchmark `operator`: its controllers own one ConfigMap for each object. */
export const MIRRORS = defineKind({
  group: 'bench.gantry.dev',
  version: 'v1',
  kind: 'Mirror',
  spec: z.object({ text: z.string() }),
  status: z.object({ text: z.string().optional() }),
});
export type Mirror = ObjectOf<typeof MIRRORS>;
