// The controller that the benchmark `operator` measures, in a process of its own.
import { CONFIG_MAPS, declare, runOperator } from '@gantry/operator';
import { MIRRORS } from './mirrors.ts';

const mirrors = declare({
  name: 'mirrors',
  for: MIRRORS,
  owns: [CONFIG_MAPS],
  desire: ({ object: { metadata, spec } }) => {
    const { text } = spec;
    const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: metadata.name ?? '' }, data: { text } };
    return { objects: [configMap], status: { text } };
  },
});
const http = { host: '127.0.0.1', port: Number(process.env['PORT']) };
await runOperator({ name: 'mirrors', controllers: [mirrors], http, logLevel: 'warn' });
