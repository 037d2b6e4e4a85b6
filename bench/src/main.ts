// Measures the running cluster and prints a report in Markdown.
//   npm run bench -- [--kubeconfig FILE] [footprint|objects|pods|failover ...]
import { parseArgs } from 'node:util';
import { openCluster } from './cluster.ts';
import { measureFailover } from './failover.ts';
import { measureFootprint } from './footprint.ts';
import { measureObjects } from './objects.ts';
import { measurePods } from './pods.ts';

const MEASURES = { footprint: measureFootprint, objects: measureObjects, pods: measurePods, failover: measureFailover };

const { values, positionals } = parseArgs({
  options: { kubeconfig: { type: 'string', default: '.gantry/kubeconfig' } },
  allowPositionals: true,
});
const cluster = openCluster(values.kubeconfig);
for (const [name, measure] of Object.entries(MEASURES)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  process.stdout.write(`\n## ${name}\n\n${(await measure(cluster)).join('\n')}\n`);
}
cluster.api[Symbol.dispose]();
