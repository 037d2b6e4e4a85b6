import { runOperator } from '@gantry/operator';
import { etcdController } from './controller.ts';
import { etcdAdmin } from './etcd-admin.ts';
import { etcdServices } from './services.ts';

await runOperator({
  name: 'etcd-operator',
  leaderElection: {},
  http: { port: Number(process.env['PORT'] ?? 8080) },
  controllers: [etcdController(etcdAdmin), etcdServices],
});
