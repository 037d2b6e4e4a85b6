import { formatTime, sleep } from '@gantry/base';
import {
  type Deployment,
  DEPLOYMENTS,
  HORIZONTAL_POD_AUTOSCALERS,
  type HorizontalPodAutoscaler,
  type JsonObject,
  type Pod,
  PODS,
  StatusError,
} from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { describe, expect, it } from 'vitest';
import { createMeters } from '../../metrics/meters.ts';
import { type ControllerHarness, createControllerHarness } from '../../testing/controller-harness.ts';
import { createHorizontalPodAutoscalerController } from './controller.ts';
import type { ReadPath } from './scale-reader.shell.ts';

const metrics = createMetrics();
const meters = createMeters(metrics);
const served = async () => (await metrics.render()).text.split('\n');

const SYNC_MS = 15_000;
const { signal } = new AbortController();

/** A Deployment of ready pods with an autoscaler, and the API that its scale and metrics are read from. */
async function createSite(
  options: { readonly selector?: string; readonly autoscaler?: Partial<HorizontalPodAutoscaler['spec']> } = {},
) {
  const harness = createControllerHarness();
  const { client, clock } = harness;
  const asked: string[] = [];
  const answers = new Map<string, () => JsonObject>();
  const read: ReadPath = async (path) => {
    asked.push(path);
    const answer = answers.get(decodeURIComponent(path));
    if (answer === undefined) throw new StatusError('NotFound', '404 page not found');
    return answer();
  };
  const deployment: Deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace: 'n', name: 'web' },
    spec: { replicas: 2, selector: { matchLabels: { app: 'web' } }, template: {} },
  };
  await client.put(DEPLOYMENTS, deployment);
  answers.set('/apis/apps/v1/namespaces/n/deployments/web/scale', () => {
    const { metadata, spec } = client.all(DEPLOYMENTS)[0] ?? deployment;
    const replicas = spec?.replicas ?? 0;
    return {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { namespace: 'n', name: 'web', resourceVersion: metadata.resourceVersion ?? '' },
      spec: { replicas },
      status: { replicas, selector: options.selector ?? 'app=web' },
    };
  });
  const startTime = formatTime(clock.now() - 3_600_000);
  for (const name of ['a', 'b']) await client.put(PODS, podOf(name, startTime));
  const spec = {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
    minReplicas: 1,
    maxReplicas: 8,
    metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } }],
    ...options.autoscaler,
  };
  await putAutoscaler(harness, 'auto', spec);
  const use = (milli: number) =>
    answers.set('/apis/metrics.k8s.io/v1beta1/namespaces/n/pods?labelSelector=app=web', () => ({
      items: ['a', 'b'].map((name) => ({
        metadata: { name },
        timestamp: formatTime(clock.now()),
        window: '10s',
        containers: [{ name: 'c', usage: { cpu: `${milli}m`, memory: '1Mi' } }],
      })),
    }));
  const start = () => harness.run([createHorizontalPodAutoscalerController(read, meters.autoscaler)]);
  return { ...harness, asked, answers, spec, use, start };
}

function podOf(name: string, startTime: string): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'n', name, labels: { app: 'web' } },
    spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }] },
    status: {
      phase: 'Running',
      startTime,
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: startTime }],
    },
  };
}

async function putAutoscaler({ client }: ControllerHarness, name: string, spec: HorizontalPodAutoscaler['spec']) {
  await client.put(HORIZONTAL_POD_AUTOSCALERS, {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { namespace: 'n', name },
    spec,
  });
}

const replicasOf = ({ client }: Pick<ControllerHarness, 'client'>) => client.all(DEPLOYMENTS)[0]?.spec?.replicas;
const conditionOf = ({ client }: Pick<ControllerHarness, 'client'>, type: string, name = 'auto') =>
  client
    .all(HORIZONTAL_POD_AUTOSCALERS)
    .find(({ metadata }) => metadata.name === name)
    ?.status?.conditions?.find((one) => one.type === type);

describe('the autoscaler', () => {
  it('looks after one period and then once in each, whatever changes', async () => {
    const site = await createSite();
    site.use(500);
    site.start();
    await site.clock.advance(SYNC_MS - 1000);
    expect(site.asked).toEqual([]);
    await site.clock.advance(1000);
    expect(site.asked).toHaveLength(2);
    const key = { namespace: 'n', name: 'auto' };
    await site.client.patch(HORIZONTAL_POD_AUTOSCALERS, key, { merge: { metadata: { labels: { a: 'b' } } } }, signal);
    await site.clock.advance(SYNC_MS - 1000);
    expect(site.asked).toHaveLength(2);
    await site.clock.advance(1000);
    expect(site.asked).toHaveLength(4);
  });

  it('sets the scale through its subresource, and says so', async () => {
    const site = await createSite();
    site.use(1000);
    site.start();
    await site.clock.advance(SYNC_MS);
    expect(replicasOf(site)).toBe(4);
    expect(site.client.writes).toContainEqual(expect.objectContaining({ verb: 'update', subresource: 'scale' }));
    expect(site.events('HorizontalPodAutoscaler').map(({ reason, source }) => [reason, source?.component])).toEqual([
      ['SuccessfulRescale', 'horizontal-pod-autoscaler'],
    ]);
    expect(conditionOf(site, 'AbleToScale')?.reason).toBe('SucceededRescale');
    const prefix = 'horizontal_pod_autoscaler_controller';
    const shown = [
      `${prefix}_reconciliations_total{action="scale_up",error="none"} 1`,
      `${prefix}_desired_replicas{namespace="n",hpa_name="auto"} 4`,
      `${prefix}_num_horizontal_pod_autoscalers 1`,
      `${prefix}_metric_computation_total{action="scale_up",error="none",metric_type="Resource"} 1`,
      `${prefix}_metric_computation_duration_seconds_count{action="scale_up",error="none",metric_type="Resource"} 1`,
    ];
    expect(await served()).toEqual(expect.arrayContaining(shown));
    await site.client.delete(HORIZONTAL_POD_AUTOSCALERS, { namespace: 'n', name: 'auto' }, {}, signal);
    await site.clock.advance(SYNC_MS);
    expect(await served()).toContain(`${prefix}_num_horizontal_pod_autoscalers 0`);
  });

  it('writes nothing while nothing changes', async () => {
    const site = await createSite();
    site.use(500);
    site.start();
    await site.clock.advance(2 * SYNC_MS);
    const before = site.client.writes.length;
    await site.clock.advance(20 * SYNC_MS);
    expect(site.client.writes.slice(before).filter(({ resource }) => resource.resource !== 'leases')).toEqual([]);
  });

  it('sets the scale again after a conflict, with the version of then', async () => {
    const site = await createSite();
    site.use(1000);
    site.client.failNext(
      ({ verb, resource }) => verb === 'update' && resource.resource === 'deployments',
      StatusError.conflict({ group: 'apps', resource: 'deployments' }, 'web'),
    );
    site.start();
    await site.clock.advance(SYNC_MS);
    expect(replicasOf(site)).toBe(4);
    expect(site.events('HorizontalPodAutoscaler').map(({ reason }) => reason)).toEqual(['SuccessfulRescale']);
  });

  it('reports a scale that it may not set', async () => {
    const site = await createSite();
    site.use(1000);
    site.client.failNext(
      ({ verb, resource }) => verb === 'update' && resource.resource === 'deployments',
      StatusError.forbidden({ group: 'apps', resource: 'deployments' }, 'web', 'not now'),
    );
    site.start();
    await site.clock.advance(SYNC_MS);
    expect(replicasOf(site)).toBe(2);
    expect(conditionOf(site, 'AbleToScale')).toMatchObject({ status: 'False', reason: 'FailedUpdateScale' });
  });

  it('counts what could not be computed', async () => {
    const external = { metric: { name: 'queue' }, target: { type: 'Value', value: '1' } };
    const site = await createSite({ autoscaler: { metrics: [{ type: 'External', external }] } });
    site.start();
    await site.clock.advance(SYNC_MS);
    expect(await served()).toContain(
      'horizontal_pod_autoscaler_controller_metric_computation_total{action="none",error="internal",metric_type="External"} 1',
    );
  });

  it('says in the words of Kubernetes that there are no metrics', async () => {
    const site = await createSite();
    site.start();
    await site.clock.advance(SYNC_MS);
    expect(conditionOf(site, 'ScalingActive')?.message).toBe(
      'the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)',
    );
  });

  it.each([
    ['Foo', 'example.com/v1', 'no matches for kind "Foo" in group "example.com"'],
    ['Deployment', 'a/b/c', 'unexpected GroupVersion string: a/b/c'],
    ['StatefulSet', 'apps/v1', 'the server could not find the requested resource (get statefulsets x)'],
  ])('reports the target %s of %s that it cannot read', async (kind, apiVersion, message) => {
    const site = await createSite({ autoscaler: { scaleTargetRef: { apiVersion, kind, name: 'x' } } });
    site.start();
    await site.clock.advance(SYNC_MS);
    expect(conditionOf(site, 'AbleToScale')).toMatchObject({
      status: 'False',
      reason: 'FailedGetScale',
      message: `the HPA controller was unable to get the target's current scale: ${message}`,
    });
  });

  it('stops where two autoscalers have the same pods, and goes on when one has gone', async () => {
    const site = await createSite();
    await putAutoscaler(site, 'other', site.spec);
    site.use(1000);
    site.start();
    await site.clock.advance(2 * SYNC_MS);
    const message = 'pods by selector app=web are controlled by multiple HPAs: [n/auto n/other]';
    for (const name of ['auto', 'other']) {
      expect(conditionOf(site, 'ScalingActive', name)).toMatchObject({ reason: 'AmbiguousSelector', message });
    }
    await site.client.delete(HORIZONTAL_POD_AUTOSCALERS, { namespace: 'n', name: 'other' }, {}, signal);
    await site.clock.advance(SYNC_MS);
    expect(conditionOf(site, 'ScalingActive')?.reason).toBe('ValidMetricFound');
  });

  it.each([
    ['', "the HPA target's scale is missing a selector"],
    [
      'cheese cheese',
      "couldn't convert selector into a corresponding internal selector object: unable to parse requirement: found 'cheese', expected: in, notin, =, ==, !=, gt, lt",
    ],
  ])('refuses the selector %j', async (selector, message) => {
    const site = await createSite({ selector });
    site.start();
    await site.clock.advance(SYNC_MS);
    expect(conditionOf(site, 'ScalingActive')).toMatchObject({ reason: 'InvalidSelector', message });
  });

  it('asks extension servers for custom and external metrics', async () => {
    const selector = { matchLabels: { verb: 'GET' } };
    const average = { type: 'AverageValue', averageValue: '10' };
    const site = await createSite({
      autoscaler: {
        metrics: [
          { type: 'Pods', pods: { metric: { name: 'hits', selector }, target: average } },
          {
            type: 'Object',
            object: {
              describedObject: { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', name: 'main' },
              metric: { name: 'requests' },
              target: { type: 'Value', value: '10' },
            },
          },
          { type: 'External', external: { metric: { name: 'queue', selector }, target: average } },
        ],
      },
    });
    const timestamp = formatTime(site.clock.now());
    const value = (name: string, amount: string) => ({ describedObject: { name }, timestamp, value: amount });
    const root = '/apis/custom.metrics.k8s.io';
    site.answers.set(root, () => ({ versions: [{ version: 'v1beta1' }], preferredVersion: { version: 'v1beta1' } }));
    site.answers.set(
      `${root}/v1beta1/namespaces/n/pods/*/hits?labelSelector=app=web&metricLabelSelector=verb=GET`,
      () => ({
        items: [value('a', '10'), value('b', '12')],
      }),
    );
    site.answers.set(`${root}/v1beta1/namespaces/n/ingresses.networking.k8s.io/main/requests`, () => ({
      items: [value('main', '15')],
    }));
    site.answers.set('/apis/external.metrics.k8s.io/v1beta1/namespaces/n/queue?labelSelector=verb=GET', () => ({
      items: [
        { timestamp, value: '20' },
        { timestamp, value: '15' },
      ],
    }));
    site.start();
    await site.clock.advance(SYNC_MS);
    expect(replicasOf(site)).toBe(4);
    expect(site.client.all(HORIZONTAL_POD_AUTOSCALERS)[0]?.status?.currentMetrics).toEqual([
      { type: 'Pods', pods: { metric: { name: 'hits', selector }, current: { averageValue: '11' } } },
      {
        type: 'Object',
        object: {
          describedObject: { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', name: 'main' },
          metric: { name: 'requests' },
          current: { value: '15' },
        },
      },
      { type: 'External', external: { metric: { name: 'queue', selector }, current: { averageValue: '17500m' } } },
    ]);
  });

  it('reads its metrics one after another, and each once', async () => {
    const target = { type: 'Value', value: '1' };
    const metrics = Array.from({ length: 200 }, (_, i) => ({
      type: 'External',
      external: { metric: { name: `queue-${i % 20}` }, target },
    }));
    const site = await createSite({ autoscaler: { metrics } });
    let [under, most] = [0, 0];
    const read: ReadPath = async (path) => {
      site.asked.push(path);
      if (path.endsWith('/scale')) return site.answers.get(path)?.() ?? {};
      under++;
      most = Math.max(most, under);
      await Promise.resolve();
      under--;
      return { items: [{ value: '1' }] };
    };
    site.run([createHorizontalPodAutoscalerController(read, meters.autoscaler)]);
    await site.clock.advance(SYNC_MS);
    expect(most).toBe(1);
    expect(site.asked).toHaveLength(1 + 20);
  });

  it('does not read metrics for longer than a period', async () => {
    const target = { type: 'Value', value: '1' };
    const metrics = Array.from({ length: 10 }, (_, i) => ({
      type: 'External',
      external: { metric: { name: `queue-${i}` }, target },
    }));
    const site = await createSite({ autoscaler: { metrics } });
    const read: ReadPath = async (path, abort) => {
      site.asked.push(path);
      if (path.endsWith('/scale')) return site.answers.get(path)?.() ?? {};
      await sleep(site.clock, 6000, abort);
      return { items: [{ value: '1' }] };
    };
    site.run([createHorizontalPodAutoscalerController(read, meters.autoscaler)]);
    await site.clock.advance(4 * SYNC_MS);
    expect(site.asked.slice(0, 4).map((path) => path.slice(path.lastIndexOf('/')))).toEqual([
      '/scale',
      '/queue-0',
      '/queue-1',
      '/queue-2',
    ]);
    expect(site.asked.filter((path) => path.endsWith('/queue-3'))).toEqual([]);
  });

  it('says what is wrong with a quantity of an extension server', async () => {
    const external = { metric: { name: 'queue' }, target: { type: 'Value', value: '1' } };
    const site = await createSite({ autoscaler: { metrics: [{ type: 'External', external }] } });
    site.answers.set('/apis/external.metrics.k8s.io/v1beta1/namespaces/n/queue', () => ({
      items: [{ value: 'much' }],
    }));
    site.start();
    await site.clock.advance(SYNC_MS);
    expect(conditionOf(site, 'ScalingActive')).toMatchObject({ status: 'False', reason: 'FailedGetExternalMetric' });
  });

  it('names what an extension server does not serve, as Kubernetes does', async () => {
    const pods = { metric: { name: 'hits' }, target: { type: 'AverageValue', averageValue: '1' } };
    const object = {
      describedObject: { apiVersion: 'v1', kind: 'Service', name: 'main' },
      metric: { name: 'requests' },
      target: { type: 'Value', value: '1' },
    };
    const external = { metric: { name: 'queue' }, target: { type: 'Value', value: '1' } };
    const metrics = [
      { type: 'Pods', pods },
      { type: 'Object', object },
      { type: 'External', external },
    ];
    const site = await createSite({ autoscaler: { metrics } });
    site.answers.set('/apis/custom.metrics.k8s.io', () => ({ versions: [{ version: 'v1beta2' }] }));
    site.start();
    await site.clock.advance(SYNC_MS);
    const not = 'the server could not find the requested resource';
    const custom = 'unable to fetch metrics from custom metrics API';
    expect(
      site
        .events('HorizontalPodAutoscaler')
        .filter(({ reason }) => reason !== 'FailedComputeMetricsReplicas')
        .map(({ message }) => message),
    ).toEqual([
      `unable to get metric hits: ${custom}: ${not} (get pods.custom.metrics.k8s.io *)`,
      `unable to get metric requests: Service on n main/${custom}: ${not} (get services.custom.metrics.k8s.io main)`,
      `unable to get external metric n/queue/nil: unable to fetch metrics from external metrics API: ${not} (get queue.external.metrics.k8s.io)`,
    ]);
  });

  it('says that custom metrics are not served', async () => {
    const metrics = [
      { type: 'Pods', pods: { metric: { name: 'hits' }, target: { type: 'AverageValue', averageValue: '1' } } },
    ];
    const site = await createSite({ autoscaler: { metrics } });
    site.start();
    await site.clock.advance(SYNC_MS);
    expect(conditionOf(site, 'ScalingActive')?.message).toBe(
      'the HPA was unable to compute the replica count: unable to get metric hits: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered',
    );
  });

  it('says that it could not be read whether custom metrics are served', async () => {
    const metrics = [
      { type: 'Pods', pods: { metric: { name: 'hits' }, target: { type: 'AverageValue', averageValue: '1' } } },
    ];
    const site = await createSite({ autoscaler: { metrics } });
    site.answers.set('/apis/custom.metrics.k8s.io', () => {
      throw StatusError.unavailable('the server is stopping');
    });
    site.start();
    await site.clock.advance(SYNC_MS);
    expect(conditionOf(site, 'ScalingActive')?.message).toBe(
      'the HPA was unable to compute the replica count: unable to get metric hits: unable to fetch metrics from custom metrics API: the server is currently unable to handle the request (get custom.metrics.k8s.io)',
    );
  });
});
