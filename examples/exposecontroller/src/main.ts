import { readFile } from 'node:fs/promises';
import { CONFIG_MAPS, connect, INGRESSES, runOperator, SERVICES } from '@gantry/operator';
import { parseConfig } from './config.ts';
import { exposeControllers } from './controllers.ts';

const NAME = 'exposecontroller';
const { CONFIG = '/etc/exposecontroller/config.yml', KUBERNETES_NAMESPACE, PORT = '10254' } = process.env;
const config = parseConfig(await readFile(CONFIG, 'utf8'));
const cluster = connect({ name: NAME });
const current = KUBERNETES_NAMESPACE ?? cluster.namespace;
const namespace = config['watch-current-namespace'] ? current : config['watch-namespaces'];

await runOperator({
  name: NAME,
  cluster,
  leaderElection: {},
  http: { port: Number(PORT) },
  caches: namespace === '' ? [] : [SERVICES, INGRESSES, CONFIG_MAPS].map((resource) => ({ ...resource, namespace })),
  controllers: exposeControllers(config),
});
