import { runOperator } from '@gantry/operator';
import { operator } from './operator.ts';

await runOperator({ ...operator(), http: { port: Number(process.env['PORT'] ?? 8080) } });
