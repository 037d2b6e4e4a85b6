/** The operator that the test of the package runs in an empty project: it keeps a copy of each ConfigMap with a label. */
import {
  CONFIG_MAPS,
  type ConfigMap,
  controllerReference,
  runOperator,
  watchOwnedBy,
  watchSelf,
} from '@gantry/operator';

const COPY = 'example.com/copy';
const isSource = ({ metadata }: ConfigMap): boolean => metadata.labels?.[COPY] === 'yes';

await runOperator({
  name: 'copier',
  leaderElection: { namespace: process.env['NAMESPACE'] ?? 'default' },
  http: { host: '127.0.0.1', port: Number(process.env['PORT']) },
  caches: [{ ...CONFIG_MAPS, namespace: process.env['NAMESPACE'] ?? 'default' }],
  controllers: [
    {
      name: 'copier',
      watches: [watchSelf(CONFIG_MAPS), watchOwnedBy(CONFIG_MAPS, CONFIG_MAPS)],
      reconcile: async (key, { cache, client, events, log }, signal) => {
        const source = cache.get(CONFIG_MAPS, key);
        if (source === undefined || !isSource(source)) return {};
        const name = `${key.name}-copy`;
        const copy = cache.get(CONFIG_MAPS, { ...key, name });
        if (copy?.data?.['value'] === source.data?.['value']) return {};
        const metadata = { name, namespace: key.namespace, ownerReferences: [controllerReference(source)] };
        const wanted: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: source.data ?? {} };
        await client.apply(CONFIG_MAPS, wanted, {}, signal);
        events.event(source, 'Normal', 'Copied', `Copied to ${name}`);
        log.info({ to: name }, 'copied');
        return {};
      },
    },
  ],
});
