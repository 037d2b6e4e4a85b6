import { CONFIG_MAPS, type Controller, DEPLOYMENTS, indexBy, keyOf, watchSelf } from '@gantry/operator';
import { listedConfigMaps, rollingPatch } from './update-on-change.ts';

const BY_CONFIG_MAP = indexBy(DEPLOYMENTS, (deployment) =>
  listedConfigMaps(deployment).map((name) => `${deployment.metadata.namespace}/${name}`),
);

/** Rolls Deployments when a ConfigMap that their annotation lists changes. */
export const configMapController: Controller = {
  name: 'configmaps',
  watches: [
    watchSelf(
      DEPLOYMENTS,
      (deployment, old) =>
        deployment.metadata.generation !== old.metadata.generation ||
        listedConfigMaps(deployment).join() !== listedConfigMaps(old).join(),
    ),
    {
      resource: CONFIG_MAPS,
      keys: (configMap, old, cache) => {
        const { namespace = '', name = '' } = (configMap ?? old)?.metadata ?? {};
        return cache.indexed(BY_CONFIG_MAP, `${namespace}/${name}`).map(keyOf);
      },
    },
  ],
  reconcile: async (key, { cache, client, events, log }, signal) => {
    const deployment = cache.get(DEPLOYMENTS, key);
    if (deployment === undefined || deployment.metadata.deletionTimestamp !== undefined) return {};
    const configMaps = listedConfigMaps(deployment)
      .map((name) => cache.get(CONFIG_MAPS, { ...key, name }))
      .filter((one) => one !== undefined);
    const patch = rollingPatch(deployment, configMaps);
    if (patch === undefined) return {};
    await client.patch(DEPLOYMENTS, key, { strategic: patch }, signal);
    const names = configMaps.map(({ metadata }) => metadata.name).join(', ');
    events.event(deployment, 'Normal', 'ConfigMapChanged', `Rolls to the content of ConfigMap ${names}`);
    log.info({ configMaps: names }, 'rolls');
    return {};
  },
};
