import type { ResourceDefinition } from '@gantry/apimachinery';
import type { KubeObject } from '@gantry/objects';
import { resourcePrefix } from '../../cache/index.ts';
import type { ServedResources } from './admission-check.ts';

/** Other versions (and groups) in which the objects of a resource are served too. */
export function equivalentsOf(
  definition: ResourceDefinition,
  { definitions }: ServedResources,
): readonly ResourceDefinition[] {
  const prefix = resourcePrefix(definition);
  return definitions.filter((other) => other !== definition && other.stored && resourcePrefix(other) === prefix);
}

/** An object of one version as another version shows it; itself when both are the same. */
export async function convertObject(
  object: KubeObject,
  from: ResourceDefinition,
  to: ResourceDefinition,
): Promise<KubeObject> {
  if (from === to) return object;
  const stored = (await (from.storage?.remote ?? from.storage)?.toStored(object)) ?? object;
  const { storage } = to;
  if (storage === undefined) return stored;
  if (storage.remote === undefined) return storage.fromStored(stored);
  const [shown] = await storage.remote.fromStored([stored]);
  return shown ?? stored;
}
