import { MAX_REPORTED, MAX_YAML_VALUES, ValueCount } from '../values/document-limits.ts';
import { MAX_DEPTH, NumberLiteral, type Parsed, type ParsedObject } from '../values/json-parser.ts';
import { resolveTagged, YamlSyntaxError } from './yaml-scalar.ts';
import type { YamlText } from './yaml-text.ts';
import { setMember } from '@gantry/objects';

/** The properties before a node: `&anchor` and `!tag`. */
export interface Properties {
  readonly anchor: string | undefined;
  readonly tag: string | undefined;
}

/** A value with an anchor, and the number of values in it. */
interface Anchored {
  readonly value: Parsed;
  readonly size: number;
}

const CORE_TAG = 'tag:yaml.org,2002:';

/** State of one document: properties, anchored values, and the limits on values and depth. */
export class YamlNodes {
  readonly #text: YamlText;
  readonly #anchors = new Map<string, Anchored | 'open'>();
  readonly #count = new ValueCount(MAX_YAML_VALUES);
  #depth = 0;

  constructor(text: YamlText) {
    this.#text = text;
  }

  /** The number of values so far. Values repeated by aliases count each time. */
  get values(): number {
    return this.#count.values;
  }

  /** Reads the properties at this position; undefined when there are none. Stops before the blanks that follow. */
  properties(): Properties | undefined {
    const text = this.#text;
    let anchor: string | undefined;
    let tag: string | undefined;
    for (;;) {
      if (text.character === '&' && anchor === undefined) {
        text.move(1);
        anchor = text.name();
      } else if (text.character === '!' && tag === undefined) tag = this.#tag();
      else break;
      text.match(/[ \t]+/y);
    }
    return anchor === undefined && tag === undefined ? undefined : { anchor, tag };
  }

  #tag(): string {
    const text = this.#text;
    const found = text.match(/!<[^\s>]*>|![^\s,[\]{}]*/y);
    const name = found.startsWith('!<') ? found.slice(2, -1) : found;
    if (!/^[\s,\]}]?$/.test(text.character)) text.fail('did not find expected whitespace or line break');
    return name.startsWith(CORE_TAG) ? `!!${name.slice(CORE_TAG.length)}` : name;
  }

  /** The value of the alias here. */
  alias(): Parsed {
    const text = this.#text;
    text.move(1);
    const name = text.name();
    const found = this.#anchors.get(name);
    if (found === undefined) throw new YamlSyntaxError(`yaml: unknown anchor '${name}' referenced`);
    if (found === 'open') throw new YamlSyntaxError(`yaml: anchor '${name}' value contains itself`);
    if (!this.#count.hasRoom(found.size)) throw new YamlSyntaxError('yaml: document contains excessive aliasing');
    this.#count.add(found.size);
    return found.value;
  }

  /** The value of properties without a node. */
  empty(properties: Properties | undefined): Parsed {
    const { tag } = properties ?? {};
    return this.anchored(properties, () => (tag === undefined ? null : tagged('', tag)));
  }

  /** Counts a value and stores it under its anchor, if it has one. */
  anchored<T extends Parsed>(properties: Properties | undefined, read: () => T): T {
    const before = this.#count.values;
    this.#count.add(1);
    if (properties?.anchor === undefined) return read();
    this.#anchors.set(properties.anchor, 'open');
    return this.remember(properties, read(), before);
  }

  /** Stores a value under its anchor. `before` is the number of values before it. */
  remember<T extends Parsed>({ anchor }: Properties, value: T, before: number): T {
    if (anchor !== undefined) this.#anchors.set(anchor, { value, size: this.#count.values - before });
    return value;
  }

  /** Called at the start of a collection. */
  enter(): void {
    if (++this.#depth > MAX_DEPTH) throw new YamlSyntaxError('yaml: exceeded max depth');
  }

  /** Called at the end of a collection. */
  leave(): void {
    this.#depth--;
  }
}

/** The value of a scalar with a tag. Without a tag, or with an unknown one, it is the text. */
export function tagged(text: string, tag: string | undefined): Parsed {
  return tag === undefined ? text : resolveTagged(text, tag);
}

/** A key of a map and its position. */
export interface Key {
  readonly key: Parsed;
  readonly at: number;
  /** Whether it is the merge key `<<`. */
  readonly merges: boolean;
}

/** A key that starts with the character `first`. A quoted `<<` is an ordinary key. */
export function keyOf(key: Parsed, first: string, at: number): Key {
  return { key, at, merges: key === '<<' && first === '<' };
}

/** The members of one map. Members merged by `<<` come first; the map's own members override them. */
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
