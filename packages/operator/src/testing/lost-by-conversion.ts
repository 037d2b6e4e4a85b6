import { equalJson, type KubeObject } from '@gantry/objects';
import type { ConvertibleKind } from '../index.ts';

/**
 * What the conversions of a kind lose: one line for each object and version that an object does not come back from as it was. Users who read
 * and write an old version would lose it.
 *
 * @example
 * ```ts
 * expect(lostByConversion(BACKUPS, [oldBackup, newBackup])).toEqual([]);
 * ```
 */
export function lostByConversion(kind: ConvertibleKind<KubeObject>, objects: readonly KubeObject[]): readonly string[] {
  const versions = kind.definition.spec.versions.map(({ name }) => `${kind.group}/${name}`);
  return objects.flatMap((object) =>
    versions.flatMap((version) => {
      const back = kind.convert(kind.convert(object, version), object.apiVersion);
      if (equalJson(back, object)) return [];
      const name = object.metadata.name ?? '';
      return [
        `${name}: ${object.apiVersion} over ${version}: ${JSON.stringify(object)} becomes ${JSON.stringify(back)}`,
      ];
    }),
  );
}
