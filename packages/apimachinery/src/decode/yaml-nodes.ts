import { MAX_REPORTED, MAX_YAML_VALUES, ValueCount } from '../values/document-limits.ts';
import { MAX_DEPTH, NumberLiteral, type Parsed, type ParsedObject } from '../values/json-parser.ts';
import { resolveTagged, YamlSyntaxError } from './yaml-scalar.ts';
import type { YamlText } from './yaml-text.ts';
import { setMember } from '@gantry/objects';

/** What stands before a node: `&anchor` and `!tag`. */
export interface Properties {
  readonly anchor: string | undefined;
  readonly tag: string | undefined;
}

/** A value that an alias can stand for, and how many values it has. */
interface Anchored {
  readonly value: Parsed;
  readonly size: number;
}

const CORE_TAG = 'tag:yaml.org,2002:';

/** What nodes of one document share: their properties, the values that aliases repeat, and the limits of values and depth. */
export class YamlNodes {
  readonly #text: YamlText;
  readonly #anchors = new Map<string, Anchored | 'open'>();
  readonly #count = new ValueCount(MAX_YAML_VALUES);
  #depth = 0;

  constructor(text: YamlText) {
    this.#text = text;
  }

  /** How many values there are so far, those that aliases repeat each time. */
  get values(): number {
    return this.#count.values;
  }

  /** The properties here; undefined where there are none. Blanks behind them are left. */
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

  /** What properties without a node stand for. */
  empty(properties: Properties | undefined): Parsed {
    const { tag } = properties ?? {};
    return this.anchored(properties, () => (tag === undefined ? null : tagged('', tag)));
  }

  /** Counts a value, and remembers it by its anchor. */
  anchored<T extends Parsed>(properties: Properties | undefined, read: () => T): T {
    const before = this.#count.values;
    this.#count.add(1);
    if (properties?.anchor === undefined) return read();
    this.#anchors.set(properties.anchor, 'open');
    return this.remember(properties, read(), before);
  }

  /** Remembers a value by its anchor; `before` is how many values there were before it. */
  remember<T extends Parsed>({ anchor }: Properties, value: T, before: number): T {
    if (anchor !== undefined) this.#anchors.set(anchor, { value, size: this.#count.values - before });
    return value;
  }

  /** A collection begins. */
  enter(): void {
    if (++this.#depth > MAX_DEPTH) throw new YamlSyntaxError('yaml: exceeded max depth');
  }

  /** A collection ends. */
  leave(): void {
    this.#depth--;
  }
}

/** A scalar's text under a tag; without one, and under a tag that says nothing, it stays a text. */
export function tagged(text: string, tag: string | undefined): Parsed {
  return tag === undefined ? text : resolveTagged(text, tag);
}

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
