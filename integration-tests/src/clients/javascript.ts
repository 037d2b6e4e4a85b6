/** What Kubernetes' JavaScript library is proved to do against a cluster, each under a name. */
import { setTimeout as delay } from 'node:timers/promises';
import { append } from '@gantry/base';
import {
  ApiException,
  CoreV1Api,
  KubeConfig,
  type KubernetesObject,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  type V1ConfigMap,
  VersionApi,
  Watch,
} from '@kubernetes/client-node';
import { eventually } from '../harness/eventually.ts';

type Loose = KubernetesObject & Record<string, unknown>;

export interface JavascriptCluster {
  readonly config: KubeConfig;
  readonly core: CoreV1Api;
  readonly objects: KubernetesObjectApi;
  readonly namespace: string;
}

export function connect(kubeconfig: string, namespace: string): JavascriptCluster {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const objects = KubernetesObjectApi.makeApiClient(config);
  return { config, core: config.makeApiClient(CoreV1Api), objects, namespace };
}

/** Each proof tells in a few words what it saw, or fails. */
export const JAVASCRIPT_PROOFS: Readonly<Record<string, (cluster: JavascriptCluster) => Promise<unknown>>> = {
  discovery: async ({ config }) => {
    const { major, minor } = await config.makeApiClient(VersionApi).getCode();
    return `version ${major}.${minor}`;
  },

  patches: async (cluster) => {
    await cluster.core.createNamespacedConfigMap({ namespace: cluster.namespace, body: named('patched', { a: '1' }) });
    const patch = (strategy: PatchStrategy, body: object) =>
      cluster.objects.patch(
        { ...named('patched', undefined, cluster.namespace), ...body },
        undefined,
        undefined,
        undefined,
        undefined,
        strategy,
      );
    await patch(PatchStrategy.MergePatch, { data: { a: null, b: '2' } });
    const last = await patch(PatchStrategy.StrategicMergePatch, { data: { $retainKeys: ['c'], c: '3' } });
    // The typed client sends a list of operations unless it is told otherwise.
    const change = (body: readonly object[]) =>
      cluster.core.patchNamespacedConfigMap({ namespace: cluster.namespace, name: 'patched', body });
    const { data } = await change([
      { op: 'test', path: '/data/c', value: '3' },
      { op: 'move', from: '/data/c', path: '/data/d' },
    ]);
    const refusal = await statusOf(change([{ op: 'test', path: '/data/d', value: '4' }]));
    return { strategic: last['data'], json: data, refusal };
  },

  apply: async (cluster) => {
    const apply = (value: string, manager: string, force = false) =>
      cluster.objects.patch(
        named('applied', { a: value }, cluster.namespace) as Loose,
        undefined,
        undefined,
        manager,
        force,
        PatchStrategy.ServerSideApply,
      );
    await apply('1', 'one');
    const refusal = await statusOf(apply('2', 'two'));
    const forced = await apply('2', 'two', true);
    const managers = forced.metadata?.managedFields?.map(({ manager }) => manager);
    return { refusal, managers };
  },

  pagination: async ({ core, namespace }) => {
    const labelSelector = 'paged=yes';
    for (let index = 10; index < 35; index++) {
      const labels = { paged: 'yes' };
      await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: `page-${index}`, labels } } });
    }
    const [names, rest]: [string[], (number | undefined)[]] = [[], []];
    let more: string | undefined;
    do {
      const page = await core.listNamespacedConfigMap({
        namespace,
        labelSelector,
        limit: 10,
        ...(more === undefined ? {} : { _continue: more }),
      });
      append(
        names,
        page.items.map(({ metadata }) => metadata?.name ?? ''),
      );
      more = page.metadata?._continue;
      rest.push(page.items.length);
    } while (more !== undefined && more !== '');
    return { names: new Set(names).size, first: names[0], last: names.at(-1), pages: rest };
  },

  'custom-resources': async (cluster) => {
    const group = `${cluster.namespace}.js.example.com`;
    // The library's name for `default`, which is a word of the language.
    const spec = { type: 'object', properties: { size: { type: 'integer', minimum: 1, _default: 3 } } };
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `tools.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural: 'tools', kind: 'Tool' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
          },
        ],
      },
    };
    const tool = (size?: number): Loose => ({
      apiVersion: `${group}/v1`,
      kind: 'Tool',
      metadata: { name: 'tool', namespace: cluster.namespace },
      spec: size === undefined ? {} : { size },
    });
    const merge = (changed: Loose) =>
      cluster.objects.patch(changed, undefined, undefined, undefined, undefined, PatchStrategy.MergePatch);
    await cluster.objects.create(definition);
    try {
      const made = await eventually('the kind is served', 120_000, () => cluster.objects.create(tool()));
      const refusal = await statusOf(merge(tool(0)));
      const patched = await merge(tool(5));
      await cluster.objects.delete(tool());
      return { made: made['spec'], refusal, patched: patched['spec'] };
    } finally {
      await cluster.objects.delete(definition);
    }
  },

  informer: async ({ config, core, namespace }) => {
    const labelSelector = 'watched=yes';
    const labels = { watched: 'yes' };
    await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'before', labels } } });
    const list = () => core.listNamespacedConfigMap({ namespace, labelSelector });
    const informer = makeInformer<V1ConfigMap>(
      config,
      `/api/v1/namespaces/${namespace}/configmaps`,
      list,
      labelSelector,
    );
    const seen: string[] = [];
    for (const verb of ['add', 'update', 'delete'] as const)
      informer.on(verb, ({ metadata }) => seen.push(`${verb} ${metadata?.name ?? ''}`));
    await informer.start();
    try {
      const until = (what: string) => eventually(`${what} in ${seen.join(', ')}`, 120_000, () => seen.includes(what));
      await until('add before');
      await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'after', labels } } });
      await until('add after');
      await core.replaceNamespacedConfigMap({
        namespace,
        name: 'after',
        body: { metadata: { name: 'after', labels }, data: { a: '1' } },
      });
      await until('update after');
      await core.deleteNamespacedConfigMap({ namespace, name: 'before' });
      await until('delete before');
      return { seen, left: informer.list().map(({ metadata }) => metadata?.name) };
    } finally {
      await informer.stop();
    }
  },

  'watch-resume': async ({ config, core, namespace }) => {
    const total = 10;
    let version = (await core.listNamespacedConfigMap({ namespace })).metadata?.resourceVersion ?? '';
    const writing = (async () => {
      for (let index = 0; index < total; index++) {
        const metadata = { name: `resumed-${index}`, labels: { resumed: 'yes' } };
        await core.createNamespacedConfigMap({ namespace, body: { metadata } });
        await delay(250);
      }
    })();
    const seen: string[] = [];
    let connections = 0;
    const watch = new Watch(config);
    while (seen.length < total && connections < 300) {
      connections++;
      await new Promise<void>((ended) => {
        const query = { labelSelector: 'resumed=yes', resourceVersion: version, timeoutSeconds: 1 };
        const path = `/api/v1/namespaces/${namespace}/configmaps`;
        const told = (phase: string, { metadata }: V1ConfigMap) => {
          seen.push(`${phase} ${metadata?.name ?? ''}`);
          version = metadata?.resourceVersion ?? version;
        };
        void watch.watch(path, query, told, () => ended());
      });
    }
    await writing;
    return { seen: seen.join(', '), resumed: connections > 1 };
  },
};

function named(name: string, data?: Readonly<Record<string, string>>, namespace?: string): V1ConfigMap {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    ...(data === undefined ? {} : { data }),
  };
}

/** The status code of a refusal. */
async function statusOf(asked: Promise<unknown>): Promise<number> {
  try {
    await asked;
  } catch (error) {
    if (error instanceof ApiException) return error.code;
    throw error;
  }
  return 200;
}
