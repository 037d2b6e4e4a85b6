import type { Random } from '@gantry/base';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;

const STRANGE: readonly Json[] = [
  null,
  true,
  -1,
  0,
  1.5,
  2 ** 31,
  9_007_199_254_740_993,
  1e300,
  '',
  ' ',
  'a'.repeat(300),
  'Ünïcode-\u0000',
  '../../etc',
  [],
  {},
  [null],
  [[]],
  { '': null },
  { name: { name: 1 } },
  '%',
  '10Gi',
  '-5',
];

type Slot = { readonly holder: Json[] | { [key: string]: Json }; readonly key: string | number };

function slots(value: Json, found: Slot[] = []): Slot[] {
  if (Array.isArray(value)) {
    value.forEach((item, key) => {
      found.push({ holder: value, key });
      slots(item, found);
    });
  } else if (value !== null && typeof value === 'object') {
    for (const key of Object.keys(value)) {
      found.push({ holder: value, key });
      slots(value[key] ?? null, found);
    }
  }
  return found;
}

/** A copy of a valid object with one to three places changed: removed, replaced by something strange, doubled, renamed. */
export function mutate(random: Random, valid: unknown): unknown {
  const copy = structuredClone(valid) as Json;
  const times = 1 + Math.floor(random() * 3);
  for (let i = 0; i < times; i++) {
    const all = slots(copy);
    if (all.length === 0) return copy;
    const { holder, key } = pick(random, all);
    const at = holder as Record<string | number, Json>;
    switch (pick(random, ['remove', 'replace', 'double', 'rename', 'unknown'] as const)) {
      case 'remove':
        if (Array.isArray(holder)) holder.splice(key as number, 1);
        else delete at[key];
        break;
      case 'replace':
        at[key] = structuredClone(pick(random, STRANGE));
        break;
      case 'double':
        if (Array.isArray(holder)) holder.push(structuredClone(at[key] ?? null));
        else at[key] = [structuredClone(at[key] ?? null), structuredClone(at[key] ?? null)];
        break;
      case 'rename':
        if (!Array.isArray(holder)) {
          at[`${key}x`] = at[key] ?? null;
          delete at[key];
        }
        break;
      case 'unknown':
        if (!Array.isArray(holder)) at['unheardOf'] = structuredClone(pick(random, STRANGE));
        break;
    }
  }
  return copy;
}
