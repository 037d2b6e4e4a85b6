import { equalJson, type KubeObject } from '@gantry/objects';
import type { ConvertibleKind } from '../index.ts';

/**
 * What the conversions of a kind lose: one line for each object and version that an object does not come back from as it was, with the fields that
 * differ. Users who read and write an old version would lose it.
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
      const fields = differences(object, back).slice(0, MOST_FIELDS).join(', ');
      return [`${name}: ${object.apiVersion} over ${version}: ${fields}`];
    }),
  );
}

const MOST_FIELDS = 10;
const MAX_TEXT = 100;

/** The fields that differ, with both values. */
function differences(before: unknown, after: unknown, path = ''): readonly string[] {
  if (equalJson(before, after)) return [];
  const isMap = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (isMap(before) && isMap(after)) {
    const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return fields.flatMap((field) =>
      differences(before[field], after[field], path === '' ? field : `${path}.${field}`),
    );
  }
  const text = (value: unknown) => (JSON.stringify(value) ?? 'nothing').slice(0, MAX_TEXT);
  return [`${path}: ${text(before)} becomes ${text(after)}`];
}
