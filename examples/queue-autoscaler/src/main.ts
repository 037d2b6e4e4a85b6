import { runOperator } from '@gantry/operator';
import { queueAutoscaler } from './queue-autoscaler.ts';
import { readRedisList } from './redis.ts';

await runOperator({
  name: 'queue-autoscaler',
  leaderElection: {},
  http: { port: Number(process.env['PORT'] ?? 8080) },
  controllers: [queueAutoscaler(readRedisList)],
});
