import {
  type ApplyConfig,
  type ReplicasPath,
  type ResourceDefinition,
  SCALE_KIND,
  type SubresourceDefinition,
  applyConfiguration,
  ownersFromScale,
  ownersInScale,
  readApplyConfig,
  normaliseShape,
  updateManagedFields,
} from '@gantry/apimachinery';
import { type KubeObject, type ManagedFieldsEntry, type Scale, StatusError } from '@gantry/objects';
import type { Instant } from '@gantry/base';
import type { Target, WriteOptions } from '../contract/registry.ts';
import { withDefaults } from '../objects/decode-body.ts';
import { findVersion, onManagedFields } from '../objects/record-manager.ts';
import { SCALE_SCHEMA, type ScalePaths, scaleOf, withScale } from '../subresources/scale.ts';
import { groupResource } from '../contract/target.ts';

/** A server-side apply to a stored object. Decodes its body once, at the first use. */
export class Application {
  readonly #target: Target;
  readonly #bytes: Uint8Array;
  readonly #options: WriteOptions;
  #config: ApplyConfig | undefined;
  #warnings: readonly string[] = [];

  constructor(target: Target, bytes: Uint8Array, options: WriteOptions) {
    this.#target = target;
    this.#bytes = bytes;
    this.#options = options;
  }

  /** Texts for `Warning: 299` headers, available after the apply. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** Returns the applied object with its defaults. Does not change the stored object. */
  async to(live: KubeObject | undefined, now: Instant): Promise<KubeObject> {
    const { definition, subresource, name } = this.#target;
    const object = await onManagedFields(definition, subresource, (of) => this.#apply(of, live, now));
    const applied = withDefaults(definition, object);
    const { uid = '' } = applied.metadata;
    if (live === undefined && uid !== '') {
      const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
      throw StatusError.conflict(groupResource(definition), name, why);
    }
    return applied;
  }

  /** Returns the applied Scale of an object. */
  toScale(live: KubeObject, now: Instant): KubeObject {
    return this.#apply(SCALE_KIND, live, now);
  }

  #apply(of: typeof SCALE_KIND, live: KubeObject | undefined, now: Instant): KubeObject {
    this.#config ??= readApplyConfig(this.#bytes);
    const { fieldManager, force = false, fieldValidation } = this.#options;
    const config = this.#config;
    const applied = applyConfiguration({ of, live, config: config.object, manager: fieldManager, force, now });
    this.#warnings = config.complain(fieldValidation);
    return applied;
  }
}

/** A change of a Scale. */
export interface ScaleChange {
  readonly paths: ScalePaths;
  /** Makes the new Scale from the current one, which has its managed fields. */
  readonly change: (scale: Scale & KubeObject) => KubeObject;
  /** Whether `change` records the field managers. */
  readonly recorded: boolean;
  readonly manager: string;
  readonly now: Instant;
}

/** Changes the Scale of an object. Returns the object with the new replicas and managed fields. */
export function changeScale(
  object: KubeObject,
  definition: ResourceDefinition,
  { paths, change, recorded, manager, now }: ScaleChange,
): { readonly object: KubeObject; readonly scale: Scale & KubeObject } {
  const pathIn = replicasPathOf(definition);
  const stored = object.metadata.managedFields ?? [];
  const shown = normaliseShape(scaleOf(object, paths), SCALE_SCHEMA);
  const live = withOwners(shown, ownersInScale(stored, pathIn));
  const scale = change(live) as Scale & KubeObject;
  const owners = recorded
    ? (scale.metadata.managedFields ?? [])
    : updateManagedFields({ of: SCALE_KIND, oldObject: live, newObject: scale, manager, now });
  const { apiVersion } = object;
  const scaled = withScale(object, scale, paths);
  return { object: withOwners(scaled, ownersFromScale(stored, owners, pathIn, apiVersion)), scale };
}

function withOwners<T extends KubeObject>(object: T, managedFields: ManagedFieldsEntry[]): T {
  const { managedFields: _managedFields, ...metadata } = object.metadata;
  return { ...object, metadata: managedFields.length === 0 ? metadata : { ...metadata, managedFields } };
}

/** The path of the replicas in each version of a kind. */
function replicasPathOf(definition: ResourceDefinition): ReplicasPath {
  return (apiVersion) => {
    const path = findVersion(definition, apiVersion)?.subresources.find(hasScale)?.scale?.specReplicas;
    return path
      ?.split('.')
      .filter((part) => part !== '')
      .map((part) => `f:${part}`);
  };
}

function hasScale({ scale }: SubresourceDefinition): boolean {
  return scale !== undefined;
}
