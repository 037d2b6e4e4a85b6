import { setMember } from '@gantry/objects';
import { MAX_REPORTED } from '../values/document-limits.ts';
import { NumberLiteral, type Parsed, type ParsedObject } from '../values/json-parser.ts';
import { YamlSyntaxError } from './yaml-scalar.ts';

/** A key of a map, and where it stands. */
export interface Key {
  readonly key: Parsed;
  readonly at: number;
  /** Whether it is the key under which other maps are merged in. */
  readonly merges: boolean;
}

/** A key that begins with the character `first`: in quotes, `<<` is a key like any other. */
export function keyOf(key: Parsed, first: string, at: number): Key {
  return { key, at, merges: key === '<<' && first === '<' };
}

/** The members of one map: what `<<` brings in comes first and gives way to the map's own. */
export class Entries {
  readonly #duplicates: string[];
  readonly #lineAt: (at: number) => number;
  readonly #own: ParsedObject = {};
  #merged: ParsedObject | undefined;

  constructor(duplicates: string[], lineAt: (at: number) => number) {
    this.#duplicates = duplicates;
    this.#lineAt = lineAt;
  }

  set({ key, at, merges }: Key, value: Parsed): void {
    if (merges) {
      this.#merge(value);
      return;
    }
    const name = keyText(key);
    if (Object.hasOwn(this.#own, name) && this.#duplicates.length < MAX_REPORTED)
      this.#duplicates.push(`line ${this.#lineAt(at)}: key ${JSON.stringify(name)} already set in map`);
    setMember(this.#own, name, value);
  }

  object(): ParsedObject {
    const merged = this.#merged;
    if (merged === undefined) return this.#own;
    for (const name of Object.keys(this.#own)) setMember(merged, name, this.#own[name] ?? null);
    return merged;
  }

  #merge(value: Parsed): void {
    const merged = (this.#merged ??= {});
    for (const source of Array.isArray(value) ? value : [value]) {
      if (source === null || typeof source !== 'object' || Array.isArray(source) || source instanceof NumberLiteral)
        throw new YamlSyntaxError('yaml: map merge requires map or sequence of maps as the value');
      for (const name of Object.keys(source)) {
        if (!Object.hasOwn(merged, name)) setMember(merged, name, source[name] ?? null);
      }
    }
  }
}

function keyText(value: Parsed): string {
  if (value instanceof NumberLiteral) return value.text;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const found = value === null ? 'null' : 'a collection';
  throw new YamlSyntaxError(`error converting YAML to JSON: unsupported map key: ${found}`);
}
