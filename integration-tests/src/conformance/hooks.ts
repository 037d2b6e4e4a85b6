import {
  AdmissionregistrationV1Api,
  type AdmissionregistrationV1WebhookClientConfig,
  type V1ConfigMap,
  type V1MutatingWebhook,
  type V1RuleWithOperations,
  type V1ValidatingWebhook,
} from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { refusal } from './outcome.ts';
import { type Handler, judging, patching, startWebhookServer, type WebhookServer } from './webhook-server.ts';
import type { World } from './world.ts';

export const WEBHOOK = '[sig-api-machinery] AdmissionWebhook [Privileged:ClusterAdmin]';
export const EFFECTIVE_MS = 120_000;

/** What a webhook looks at. */
type ResourceRule = Pick<V1RuleWithOperations, 'apiGroups' | 'apiVersions' | 'resources'>;

type Data = Readonly<Record<string, string>>;
export const dataOf = (object: object) => (object as { data?: Data }).data ?? {};

const unwantedData: Handler = judging(({ object }) =>
  dataOf(object)['webhook-e2e-test'] === 'webhook-disallow'
    ? 'the configmap contains unwanted key and value'
    : undefined,
);

const unwantedPod: Handler = (review) => {
  const { object } = review['request'] as {
    object: { metadata?: { labels?: Data }; spec?: { containers?: { name: string }[] } };
  };
  const labels = object.metadata?.labels ?? {};
  // It never answers about this one.
  if (labels['hang'] === 'true') return undefined;
  const complaints = [
    ...((object.spec?.containers ?? []).some(({ name }) => name.includes('webhook-disallow'))
      ? ['the pod contains unwanted container name;']
      : []),
    ...(labels['webhook-e2e-test'] === 'disallow' ? ['the pod contains unwanted label;'] : []),
  ];
  return judging(() => (complaints.length === 0 ? undefined : complaints.join(' ')))(review);
};

/** Adds a stage when the one before it is there. */
const stage = (number: number): Handler =>
  patching(({ object }) => {
    const before = number === 1 ? 'mutation-start' : `mutation-stage-${number - 1}`;
    return dataOf(object)[before] === 'yes'
      ? [{ op: 'add', path: `/data/mutation-stage-${number}`, value: 'yes' }]
      : [];
  });

const HANDLERS: Readonly<Record<string, Handler>> = {
  '/allow': judging(() => undefined),
  '/configmaps': unwantedData,
  '/pods': unwantedPod,
  '/deny': judging(({ operation }) => `${operation} is denied`),
  '/attach': judging(({ name }) => `attaching to pod '${name}' is not allowed`),
  '/crds': judging(({ object }) =>
    object.metadata?.labels?.['webhook-e2e-test'] === 'webhook-disallow'
      ? 'the crd contains unwanted label'
      : undefined,
  ),
  '/stage-1': stage(1),
  '/stage-2': stage(2),
  '/init-container': patching(() => [
    { op: 'add', path: '/spec/initContainers', value: [{ name: 'webhook-added-init-container', image: 'busybox' }] },
  ]),
  '/silent': () => undefined,
};

export const CONFIG_MAPS: ResourceRule = { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] };
export const PODS: ResourceRule = { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
export const WRITES = ['CREATE', 'UPDATE'];

/** Webhooks of one test: its server, its namespaces, and configurations that concern only those. */
export class Hooks {
  readonly world: World;
  readonly server: WebhookServer;
  readonly namespace: string;
  readonly api: AdmissionregistrationV1Api;

  private constructor(world: World, server: WebhookServer, namespace: string) {
    this.world = world;
    this.server = server;
    this.namespace = namespace;
    this.api = world.api(AdmissionregistrationV1Api);
  }

  static async open(world: World): Promise<Hooks> {
    const server = await startWebhookServer(HANDLERS);
    world.atEnd(async () => server[Symbol.asyncDispose]());
    return new Hooks(world, server, await world.namespace());
  }

  /** A webhook at a path of the server, for objects of the test's namespaces. */
  hook(path: string, rule: ResourceRule, change: Partial<V1ValidatingWebhook & V1MutatingWebhook> = {}) {
    const rules: V1RuleWithOperations[] = [{ ...rule, operations: WRITES }];
    const clientConfig: AdmissionregistrationV1WebhookClientConfig = {
      url: this.server.url(path),
      caBundle: this.server.caBundle,
    };
    return {
      name: `${path.slice(1)}.${this.namespace}.example.com`,
      rules,
      clientConfig,
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Fail',
      timeoutSeconds: 10,
      namespaceSelector: { matchLabels: { [this.namespace]: 'true' } },
      ...change,
    };
  }

  async validate(
    webhooks: V1ValidatingWebhook[],
    labels: Data = {},
    name = this.world.unique('hook'),
  ): Promise<string> {
    await this.api.createValidatingWebhookConfiguration({
      body: { metadata: { name, labels: { ...labels } }, webhooks },
    });
    this.world.atEnd(() => this.api.deleteValidatingWebhookConfiguration({ name }));
    return name;
  }

  async mutate(webhooks: V1MutatingWebhook[], labels: Data = {}, name = this.world.unique('hook')): Promise<string> {
    await this.api.createMutatingWebhookConfiguration({
      body: { metadata: { name, labels: { ...labels } }, webhooks },
    });
    this.world.atEnd(() => this.api.deleteMutatingWebhookConfiguration({ name }));
    return name;
  }

  createMap(name: string, data: Data, namespace = this.namespace): Promise<V1ConfigMap> {
    return this.world.core.createNamespacedConfigMap({ namespace, body: { metadata: { name }, data: { ...data } } });
  }

  /** A map that goes again at once. It brings its name: one that the server chooses is chosen after webhooks were asked. */
  async passingMap(data: Data): Promise<V1ConfigMap> {
    const name = this.world.unique('probe');
    const made = await this.createMap(name, data);
    await this.world.core.deleteNamespacedConfigMap({ namespace: this.namespace, name });
    return made;
  }

  /** Waits until such a map is refused, which it is when the webhooks are in force. */
  async untilRefused(data: Data): Promise<string> {
    return await eventually('the webhook refuses', EFFECTIVE_MS, async () => {
      return (await refusal(this.passingMap(data))).message;
    });
  }

  async untilData(data: Data, wanted: Data): Promise<void> {
    await eventually('the webhooks mutate', EFFECTIVE_MS, async () => {
      expect((await this.passingMap(data)).data).toEqual(wanted);
      return true;
    });
  }
}

export const DISALLOWED = { 'webhook-e2e-test': 'webhook-disallow' };
export const UNWANTED = 'the configmap contains unwanted key and value';
export const STARTED = { 'mutation-start': 'yes' };
export const STAGED_ONCE = { ...STARTED, 'mutation-stage-1': 'yes' };
export const STAGED = { ...STAGED_ONCE, 'mutation-stage-2': 'yes' };
