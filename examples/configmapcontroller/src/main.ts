import { CONFIG_MAPS, DEPLOYMENTS, runOperator } from '@gantry/operator';
import { configMapController } from './controller.ts';

const namespace = process.env['KUBERNETES_NAMESPACE'] ?? '';

await runOperator({
  name: 'configmapcontroller',
  leaderElection: {},
  http: { port: Number(process.env['PORT'] ?? 10254) },
  caches: namespace === '' ? [] : [CONFIG_MAPS, DEPLOYMENTS].map((resource) => ({ ...resource, namespace })),
  controllers: [configMapController],
});
