import { MAX_YAML_VALUES, ValueCount } from '../values/document-limits.ts';
import { MAX_DEPTH, type Parsed } from '../values/json-parser.ts';
import { resolveTagged, YamlSyntaxError } from './yaml-scalar.ts';
import type { YamlText } from './yaml-text.ts';

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
