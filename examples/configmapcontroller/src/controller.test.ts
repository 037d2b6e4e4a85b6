import { CONFIG_MAPS, type ConfigMap, type Deployment, DEPLOYMENTS } from '@gantry/operator';
import { type ObjectsReader, simulate, type Step } from '@gantry/operator/testing';
import { expect, test } from 'vitest';
import { configMapController } from './controller.ts';
import { rollingPatch } from './update-on-change.ts';

const namespace = 'default';
const configMap = (name: string, data: Record<string, string>): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data,
});
const container = (name: string) => ({ name, image: 'nginx' });
const deployment = (name: string, annotations: Record<string, string>): Deployment => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace, annotations },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [container('one'), container('two')] },
    },
  },
});
const listed = { 'configmap.fabric8.io/update-on-change': 'settings,flags' };
const set = (name: string, data: Record<string, string>): Step => {
  return (client, signal) => client.patch(CONFIG_MAPS, { namespace, name }, { merge: { data } }, signal);
};
/** Replaces a container, as a user does while the controller patches it. */
const renameContainer: Step = (client, signal) => {
  const spec = { template: { spec: { containers: [container('one'), container('three')] } } };
  return client.patch(DEPLOYMENTS, { namespace, name: 'web' }, { merge: { spec } }, signal);
};
const remove: Step = (client, signal) => client.delete(CONFIG_MAPS, { namespace, name: 'flags' }, {}, signal);
const again: Step = (client, signal) => client.create(CONFIG_MAPS, configMap('flags', { dark: 'yes' }), signal);

test('each history ends with the hashes of the ConfigMaps, and rolls no more often than they changed', async () => {
  let last: ObjectsReader | undefined;
  const report = await simulate({
    operator: () => ({ name: 'configmapcontroller', controllers: [configMapController] }),
    objects: [
      configMap('settings', { level: 'info' }),
      configMap('flags', { dark: 'no' }),
      configMap('foreign', { a: 'b' }),
      deployment('web', listed),
      deployment('other', {}),
    ],
    steps: [set('settings', { level: 'debug' }), set('foreign', { a: 'c' }), renameContainer, remove, again],
    invariant: (objects) => {
      last = objects;
      const generation = (name: string) =>
        objects.all(DEPLOYMENTS).find(({ metadata }) => metadata.name === name)?.metadata.generation ?? 0;
      if (generation('other') > 1) return 'a Deployment without the annotation was changed';
      // Created, changed by the user, and then for each content of each of the two ConfigMaps, and the new container.
      return generation('web') > 7 ? `generation ${generation('web')}: rolls without a change` : undefined;
    },
    seeds: 60,
  });
  expect(report.text).toBe('');
  const web = last?.all(DEPLOYMENTS).find(({ metadata }) => metadata.name === 'web');
  const configMaps = (last?.all(CONFIG_MAPS) ?? []).filter(({ metadata }) => metadata.name !== 'foreign');
  expect(configMaps.map(({ data }) => data)).toEqual([{ level: 'debug' }, { dark: 'yes' }]);
  expect(web?.spec?.template.spec?.containers.map(({ env }) => env?.length)).toEqual([2, 2]);
  expect(web === undefined ? web : rollingPatch(web, configMaps)).toBeUndefined();
});
