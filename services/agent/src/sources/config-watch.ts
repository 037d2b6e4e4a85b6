import { type Clock, errorMessage, type Random } from '@gantry/base';
import type { ObjectReader } from '@gantry/client';
import { Reflector, type ReflectorEvent } from '@gantry/controller-runtime';
import {
  CLUSTER_TRUST_BUNDLES,
  type ClusterTrustBundle,
  CONFIG_MAPS,
  type ConfigMap,
  type KubeObject,
  type Pod,
  type Resource,
  type Secret,
  SECRETS,
} from '@gantry/objects';
import type { Logger } from '@gantry/service';
import type { BundleSelection, ConfigSource } from '../spec/config-source.ts';
import { bundleSelector } from './api-config-source.ts';

type Kind = 'configmap' | 'secret' | 'bundle' | 'signer';

const RESOURCES: Readonly<Record<Kind, Resource<ConfigMap> | Resource<Secret> | Resource<ClusterTrustBundle>>> = {
  configmap: CONFIG_MAPS,
  secret: SECRETS,
  bundle: CLUSTER_TRUST_BUNDLES,
  signer: CLUSTER_TRUST_BUNDLES,
};

/**
 * The limit of watches per pod, because each is an open request. Changes of further objects are noticed when the volumes are read again.
 */
const MAX_WATCHES = 100;

/** An object that a pod's volumes use; for a signer, all its bundles. */
interface Reference {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
}

interface Watched {
  readonly reference: Reference;
  readonly abort: AbortController;
  readonly pods: Set<string>;
  /** The version of the last event; undefined before the first, '' for an object that does not exist. */
  version: string | undefined;
}

export interface ConfigWatchOptions {
  readonly client: ObjectReader;
  readonly source: ConfigSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/**
 * Watches the ConfigMaps, Secrets and trust bundles in the volumes of this node's pods. Like in the kubelet, each object has one watch as
 * long as a pod uses it. Volumes read the objects through this class, so that a change between a read and the start of its watch is
 * noticed.
 */
export class ConfigWatch implements ConfigSource {
  readonly #options: ConfigWatchOptions;
  readonly #watched = new Map<string, Watched>();
  /** The keys of the objects that each pod uses, by pod uid. */
  readonly #references = new Map<string, ReadonlySet<string>>();
  /** The number of changes of each pod's objects, by pod uid. */
  readonly #changes = new Map<string, number>();
  /** Versions that were read before the first event of a watch. */
  readonly #read = new Map<string, string>();
  readonly #listeners = new Set<(podUid: string) => void>();

  constructor(options: ConfigWatchOptions) {
    this.#options = options;
  }

  async configMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap | undefined> {
    return this.#note('configmap', namespace, name, await this.#options.source.configMap(namespace, name, signal));
  }

  async secret(namespace: string, name: string, signal: AbortSignal): Promise<Secret | undefined> {
    return this.#note('secret', namespace, name, await this.#options.source.secret(namespace, name, signal));
  }

  async trustBundles(selection: BundleSelection, signal: AbortSignal): Promise<readonly ClusterTrustBundle[]> {
    const found = await this.#options.source.trustBundles(selection, signal);
    const version = 'name' in selection ? versionOf(found[0]) : versionsOf(found);
    this.#noteVersion(keyOf(bundleReference(selection)), version);
    return found;
  }

  /** A number that grows when an object in the pod's volumes changes. */
  changesOf(podUid: string): number {
    return this.#changes.get(podUid) ?? 0;
  }

  /** Calls `listener` with the uid of each affected pod after a change. Returns a function that unsubscribes it. */
  subscribe(listener: (podUid: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Watches the objects in a pod's volumes; undefined ends that. Idempotent. */
  follow(podUid: string, pod: Pod | undefined): void {
    const wanted = new Map(
      (pod === undefined ? [] : referencesOf(pod)).map((reference) => [keyOf(reference), reference]),
    );
    for (const key of this.#references.get(podUid) ?? []) if (!wanted.has(key)) this.#leave(podUid, key);
    for (const [key, reference] of [...wanted].slice(0, MAX_WATCHES)) this.#join(podUid, key, reference);
    if (wanted.size > 0) this.#references.set(podUid, new Set(wanted.keys()));
    else this.#references.delete(podUid);
    if (pod === undefined) this.#changes.delete(podUid);
  }

  /** The number of watched objects. */
  get size(): number {
    return this.#watched.size;
  }

  #note<T extends KubeObject>(kind: Kind, namespace: string, name: string, found: T | undefined): T | undefined {
    this.#noteVersion(keyOf({ kind, namespace, name }), versionOf(found));
    return found;
  }

  #noteVersion(key: string, version: string): void {
    if (this.#watched.get(key)?.version === undefined) this.#read.set(key, version);
  }

  #join(podUid: string, key: string, reference: Reference): void {
    const known = this.#watched.get(key);
    if (known !== undefined) {
      known.pods.add(podUid);
      return;
    }
    const watched: Watched = { reference, abort: new AbortController(), pods: new Set([podUid]), version: undefined };
    this.#watched.set(key, watched);
    this.#run(key, watched).catch((error: unknown) => {
      this.#options.logger.warn({ object: key, reason: errorMessage(error) }, 'a watch of a configuration ended');
    });
  }

  #leave(podUid: string, key: string): void {
    const watched = this.#watched.get(key);
    watched?.pods.delete(podUid);
    if (watched !== undefined && watched.pods.size > 0) return;
    watched?.abort.abort();
    this.#watched.delete(key);
    this.#read.delete(key);
  }

  async #run(key: string, watched: Watched): Promise<void> {
    const { client, clock, random, logger } = this.#options;
    const { kind, namespace, name } = watched.reference;
    const fieldSelector = kind === 'signer' ? bundleSelector({ signerName: name }) : `metadata.name=${name}`;
    const resource = RESOURCES[kind] as Resource;
    const bundles = new Map<string, string>();
    const reflector = new Reflector({ client, resource, clock, random, namespace, fieldSelector });
    for await (const event of reflector.events(watched.abort.signal)) {
      if (event.kind === 'failed') {
        logger.debug({ object: key, reason: errorMessage(event.error) }, 'watching a configuration failed');
        continue;
      }
      const version = kind === 'signer' ? signerVersion(event, name, bundles) : lastVersion(event, name);
      const before = watched.version ?? this.#read.get(key);
      watched.version = version ?? watched.version;
      this.#read.delete(key);
      if (version !== undefined && before !== undefined && version !== before) this.#changed(watched);
    }
  }

  #changed({ pods }: Watched): void {
    for (const uid of pods) {
      this.#changes.set(uid, this.changesOf(uid) + 1);
      for (const listener of this.#listeners) listener(uid);
    }
  }
}

/** The version of the object after an event; '' for a deleted object, undefined when the event does not concern it. */
function lastVersion(event: Exclude<ReflectorEvent, { kind: 'failed' }>, name: string): string | undefined {
  const isIt = ({ metadata }: KubeObject) => metadata.name === name;
  if (event.kind === 'resync') return versionOf(event.objects.find(isIt));
  const last = event.changes.findLast(({ object }) => isIt(object));
  if (last === undefined) return undefined;
  return last.kind === 'gone' ? '' : versionOf(last.object);
}

/**
 * The versions of all bundles of a signer after an event. `bundles` contains the versions by name after earlier events, and is updated.
 */
function signerVersion(
  event: Exclude<ReflectorEvent, { kind: 'failed' }>,
  signer: string,
  bundles: Map<string, string>,
): string {
  const isOfIt = (object: KubeObject) => (object as ClusterTrustBundle).spec.signerName === signer;
  if (event.kind === 'resync') {
    bundles.clear();
    for (const object of event.objects.filter(isOfIt)) bundles.set(object.metadata.name ?? '', versionOf(object));
  } else {
    for (const { kind, object } of event.changes.filter((change) => isOfIt(change.object))) {
      if (kind === 'gone') bundles.delete(object.metadata.name ?? '');
      else bundles.set(object.metadata.name ?? '', versionOf(object));
    }
  }
  return joined([...bundles]);
}

function versionsOf(objects: readonly KubeObject[]): string {
  return joined(objects.map((object) => [object.metadata.name ?? '', versionOf(object)]));
}

function joined(versions: readonly (readonly [name: string, version: string])[]): string {
  return versions
    .map(([name, version]) => `${name}@${version}`)
    .sort()
    .join();
}

function versionOf(object: KubeObject | undefined): string {
  return object?.metadata.resourceVersion ?? '';
}

function keyOf({ kind, namespace, name }: Reference): string {
  return `${kind}/${namespace}/${name}`;
}

function bundleReference(selection: BundleSelection): Reference {
  const [kind, name] =
    'name' in selection ? (['bundle', selection.name] as const) : (['signer', selection.signerName] as const);
  return { kind, namespace: '', name };
}

function referencesOf({ metadata: { namespace = '' }, spec }: Pod): readonly Reference[] {
  const names = (spec?.volumes ?? []).flatMap(({ configMap, secret, projected }) => [
    { kind: 'configmap' as const, name: configMap?.name },
    { kind: 'secret' as const, name: secret?.secretName },
    ...(projected?.sources ?? []).flatMap((source) => [
      { kind: 'bundle' as const, name: source.clusterTrustBundle?.name },
      { kind: 'signer' as const, name: source.clusterTrustBundle?.signerName },
      { kind: 'configmap' as const, name: source.configMap?.name },
      { kind: 'secret' as const, name: source.secret?.name },
    ]),
  ]);
  return names.flatMap(({ kind, name = '' }) => {
    if (name === '') return [];
    return [kind === 'bundle' || kind === 'signer' ? { kind, namespace: '', name } : { kind, namespace, name }];
  });
}
