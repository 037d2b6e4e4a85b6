import {
  apiVersionOf,
  CUSTOM_RESOURCE_DEFINITIONS,
  type KubeObject,
  MUTATING_WEBHOOK_CONFIGURATIONS,
  type ObjectKey,
  type Resource,
  type ResourceRef,
  VALIDATING_WEBHOOK_CONFIGURATIONS,
} from '@gantry/objects';
import type { ObjectClient } from '@gantry/client';
import { OptionsError } from '../options-error.ts';
import type { AdmissionWebhook } from './admission.ts';
import type { ConvertibleKind } from './conversion.ts';

/** What an operator serves to API servers. All replicas serve it, also those that do not lead. */
export interface WebhookOptions {
  /** By `validating` and `mutating`. */
  readonly admission?: readonly AdmissionWebhook[];
  /** Kinds in several versions, by `withVersions`. */
  readonly conversions?: readonly ConvertibleKind<KubeObject>[];
  /** 9443 when absent. */
  readonly port?: number;
  /** All addresses when absent. */
  readonly host?: string;
  /** The Service of the operator's pods; the name of the operator when absent. */
  readonly service?: string;
  /** Where API servers outside the cluster reach this process, such as `https://10.0.0.1:9443`; instead of the Service. */
  readonly url?: string;
  /** The Secret in which the replicas share their certificate; `SERVICE-webhooks` when absent. */
  readonly secret?: string;
}

/** Where webhooks are, and the names of what they need. */
export interface WebhookPlace {
  readonly name: string;
  readonly namespace: string;
  readonly webhooks: WebhookOptions;
}

export const WEBHOOK_PORT = 9443;
const SERVICE_PORT = 443;

/** An object that says which webhooks API servers call. */
interface WebhookConfiguration {
  readonly resource: Resource;
  readonly webhooks: readonly AdmissionWebhook[];
}

/** Throws OptionsError, which names the field. */
export function checkWebhooks({ admission = [], conversions = [], url, port }: WebhookOptions): void {
  if (admission.length + conversions.length === 0) throw new OptionsError('webhooks: there is none');
  const names = new Set<string>();
  for (const { name } of admission) {
    if (names.has(name)) throw new OptionsError(`webhooks.admission[${name}]: two have this name`);
    names.add(name);
  }
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= 65_535)) {
    throw new OptionsError(`webhooks.port: must be an integer from 0 to 65535, not ${port}`);
  }
  if (url !== undefined && !(URL.canParse(url) && new URL(url).protocol === 'https:')) {
    throw new OptionsError(`webhooks.url: ${JSON.stringify(url)} must be a URL of https`);
  }
}

export function admissionPath({ name }: AdmissionWebhook): string {
  return `/admission/${name}`;
}

export function conversionPath({ group, resource }: ResourceRef): string {
  return `/convert/${resource}.${group}`;
}

export function serviceName({ name, webhooks: { service = name } }: WebhookPlace): string {
  return service;
}

/** The Secret of the certificates. */
export function secretKey(place: WebhookPlace): ObjectKey {
  const { namespace, webhooks } = place;
  return { namespace, name: webhooks.secret ?? `${serviceName(place)}-webhooks` };
}

/** The DNS names and addresses that the certificate is for. */
export function hostsOf(place: WebhookPlace): readonly string[] {
  const { url } = place.webhooks;
  if (url !== undefined) return [new URL(url).hostname.replace(/^\[|\]$/g, '')];
  const name = `${serviceName(place)}.${place.namespace}.svc`;
  return [name, `${name}.cluster.local`];
}

function clientConfig(place: WebhookPlace, path: string): object {
  const { url } = place.webhooks;
  if (url !== undefined) return { url: `${url.replace(/\/$/, '')}${path}` };
  return { service: { name: serviceName(place), namespace: place.namespace, path, port: SERVICE_PORT } };
}

/** The configurations of admission webhooks that there are, by their resource. */
export function configurationsOf({ admission = [] }: WebhookOptions): readonly WebhookConfiguration[] {
  return [
    { type: 'validating', resource: VALIDATING_WEBHOOK_CONFIGURATIONS as Resource },
    { type: 'mutating', resource: MUTATING_WEBHOOK_CONFIGURATIONS as Resource },
  ].flatMap(({ type, resource }) => {
    const webhooks = admission.filter((webhook) => webhook.type === type);
    return webhooks.length === 0 ? [] : [{ resource, webhooks }];
  });
}

/** Manifests of the webhooks of an operator. */
export interface WebhookManifestsOptions {
  /** The namespace of the operator's pods. */
  readonly namespace: string;
  /** Labels of the operator's pods; `app.kubernetes.io/name` with the name of the operator when absent. */
  readonly selector?: Readonly<Record<string, string>>;
}

/**
 * What API servers need to call an operator's webhooks, as manifests for `kubectl apply -f -`: the Service, the webhook configurations, and
 * the definitions of the kinds in several versions. The operator adds the certificate that they trust, and renews it.
 *
 * @example
 * ```ts
 * const options = { name: 'backups', webhooks: { admission: [onlyMore], conversions: [BACKUPS] } };
 * console.log(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: webhookManifests(options, { namespace: 'backups' }) }));
 * ```
 */
export function webhookManifests(
  { name, webhooks }: { readonly name: string; readonly webhooks: WebhookOptions },
  { namespace, selector = { 'app.kubernetes.io/name': name } }: WebhookManifestsOptions,
): readonly KubeObject[] {
  checkWebhooks(webhooks);
  const place = { name, namespace, webhooks };
  const { url, conversions = [], port: targetPort = WEBHOOK_PORT } = webhooks;
  const ports = [{ name: 'webhooks', port: SERVICE_PORT, targetPort }];
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: serviceName(place), namespace },
    spec: { selector, ports },
  };
  return [
    ...(url === undefined ? [service] : []),
    ...configurationsOf(webhooks).map(({ resource, webhooks: ours }) => ({
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      metadata: { name },
      webhooks: ours.map((webhook) => ({
        ...webhook.entry,
        clientConfig: clientConfig(place, admissionPath(webhook)),
      })),
    })),
    ...conversions.map((kind) => {
      const { definition } = kind;
      const webhook = { conversionReviewVersions: ['v1'], clientConfig: clientConfig(place, conversionPath(kind)) };
      return { ...definition, spec: { ...definition.spec, conversion: { strategy: 'Webhook', webhook } } };
    }),
  ];
}

/** An object with the certificates that API servers trust, in base64, and how those certificates are applied. */
export interface Trusting {
  readonly resource: Resource;
  readonly name: string;
  /** The bundles that the object has now. */
  readonly bundles: (object: KubeObject) => readonly (string | undefined)[];
  /** The fields that hold the bundle. */
  readonly fields: (caBundle: string) => object;
}

interface ClientConfig {
  readonly clientConfig?: { readonly caBundle?: string };
}

/** The objects that name the certificates of an operator's webhooks. */
export function trustingOf({ name, webhooks }: WebhookPlace): readonly Trusting[] {
  const configurations = configurationsOf(webhooks).map(({ resource, webhooks: ours }): Trusting => {
    const names = new Set(ours.map((webhook) => webhook.name));
    return {
      resource,
      name,
      bundles: (object) => {
        const { webhooks: all = [] } = object as {
          readonly webhooks?: readonly (ClientConfig & { readonly name: string })[];
        };
        return all.filter((one) => names.has(one.name)).map(({ clientConfig: of }) => of?.caBundle);
      },
      fields: (caBundle) => ({ webhooks: [...names].map((of) => ({ name: of, clientConfig: { caBundle } })) }),
    };
  });
  const conversions = (webhooks.conversions ?? []).map(({ resource, group }): Trusting => {
    return {
      resource: CUSTOM_RESOURCE_DEFINITIONS,
      name: `${resource}.${group}`,
      bundles: (object) => {
        const { spec } = object as { readonly spec?: { readonly conversion?: { readonly webhook?: ClientConfig } } };
        return [spec?.conversion?.webhook?.clientConfig?.caBundle];
      },
      fields: (caBundle) => ({
        spec: {
          conversion: {
            strategy: 'Webhook',
            webhook: { conversionReviewVersions: ['v1'], clientConfig: { caBundle } },
          },
        },
      }),
    };
  });
  return [...configurations, ...conversions];
}

/**
 * Writes a bundle (PEM) into the objects that name it, by server-side apply: everything else in them stays. Rejects with StatusError NotFound
 * when one does not exist: the manifests have not been applied.
 */
export async function publishBundle(
  client: ObjectClient,
  trusting: readonly Trusting[],
  bundle: string,
  signal: AbortSignal,
): Promise<void> {
  const caBundle = Buffer.from(bundle).toString('base64');
  const write = async ({ resource, name, bundles, fields }: Trusting): Promise<void> => {
    const found = await client.get(resource, { namespace: '', name }, signal);
    const known = bundles(found);
    if (known.length > 0 && known.every((one) => one === caBundle)) return;
    const { apiVersion, kind } = { apiVersion: apiVersionOf(resource), kind: resource.kind };
    // The uid makes the write fail, rather than create an incomplete object, when it has been deleted meanwhile.
    const metadata = { name, uid: found.metadata.uid };
    await client.apply(resource, { apiVersion, kind, metadata, ...fields(caBundle) }, {}, signal);
  };
  const results = await Promise.allSettled(trusting.map(write));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
