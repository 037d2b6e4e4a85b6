import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Scalar, type Tags } from 'yaml';
import { MAX_DEPTH, NumberLiteral, type Parsed, type ParsedObject } from '../values/json-parser.ts';

/** A text that is not YAML. */
export class YamlSyntaxError extends Error {
  override readonly name = 'YamlSyntaxError';
}

/** Aliases may not make more values than this: a small document must not become a huge one. */
const MAX_VALUES = 200_000;

/** YAML 1.1 types that Go's decoder leaves as texts, sequences and maps. */
const UNKNOWN_TO_GO: ReadonlySet<string> = new Set([
  'tag:yaml.org,2002:omap',
  'tag:yaml.org,2002:pairs',
  'tag:yaml.org,2002:set',
  'tag:yaml.org,2002:timestamp',
]);

export interface YamlResult {
  readonly value: Parsed;
  /** `line 7: key "a" already set in map`, as Go's decoder words it. */
  readonly duplicates: readonly string[];
}

/**
 * Reads the first document by the rules of YAML 1.1 as Go's decoder knows them (`y` is true, times are texts).
 * Throws YamlSyntaxError.
 */
export function parseYamlText(text: string): YamlResult {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    version: '1.1',
    merge: true,
    uniqueKeys: false,
    intAsBigInt: true,
    lineCounter,
    prettyErrors: false,
    logLevel: 'silent',
    customTags: goTags,
  });
  const problem = document.errors.find((error) => error.code !== 'MULTIPLE_DOCS');
  if (problem !== undefined) {
    const { line } = lineCounter.linePos(problem.pos[0]);
    throw new YamlSyntaxError(
      `yaml: line ${line}: ${problem.code === 'TAB_AS_INDENT' ? 'found a tab character that violates indentation' : problem.message}`,
    );
  }
  const reader = new NodeReader(lineCounter);
  return { value: reader.read(document.contents), duplicates: reader.duplicates };
}

function goTags(tags: Tags): Tags {
  return tags.filter((tag) => {
    if (typeof tag === 'string') return true;
    return !UNKNOWN_TO_GO.has(tag.tag) && !('format' in tag && tag.format === 'TIME');
  });
}

class NodeReader {
  readonly duplicates: string[] = [];
  readonly #anchors = new Map<string, unknown>();
  readonly #lines: LineCounter;
  readonly #path: (string | number)[] = [];
  #values = 0;

  constructor(lines: LineCounter) {
    this.#lines = lines;
  }

  read(node: unknown): Parsed {
    if (++this.#values > MAX_VALUES) throw new YamlSyntaxError('yaml: document contains excessive aliasing');
    if (this.#path.length > MAX_DEPTH) throw new YamlSyntaxError('yaml: exceeded max depth');
    if (isAlias(node)) {
      const target = this.#anchors.get(node.source);
      if (target === undefined) throw new YamlSyntaxError(`yaml: unknown anchor '${node.source}' referenced`);
      return this.read(target);
    }
    this.#remember(node);
    if (isMap(node)) return this.#map(node.items);
    if (isSeq(node)) return node.items.map((item, index) => this.#within(index, item));
    return isScalar(node) ? scalarValue(node) : null;
  }

  /** Anchors come before their aliases; looking them up in the document would read it whole each time. */
  #remember(node: unknown): void {
    if ((isMap(node) || isSeq(node) || isScalar(node)) && node.anchor !== undefined)
      this.#anchors.set(node.anchor, node);
  }

  #within(step: string | number, node: unknown): Parsed {
    this.#path.push(step);
    const value = this.read(node);
    this.#path.pop();
    return value;
  }

  #map(pairs: readonly { key: unknown; value: unknown }[]): ParsedObject {
    const own = new Map<string, Parsed>();
    const merged = new Map<string, Parsed>();
    for (const { key, value } of pairs) {
      if (isMergeKey(key)) {
        for (const source of asList(this.read(value))) {
          for (const [name, item] of Object.entries(source)) if (!merged.has(name)) merged.set(name, item);
        }
        continue;
      }
      this.#remember(key);
      const name = keyText(isAlias(key) ? this.read(key) : isScalar(key) ? scalarValue(key) : undefined);
      if (own.has(name)) this.#reportDuplicate(key, name);
      own.set(name, this.#within(name, value));
    }
    return Object.fromEntries([...merged, ...own]);
  }

  #reportDuplicate(key: unknown, name: string): void {
    const at = isScalar(key) && key.range ? this.#lines.linePos(key.range[0]).line : 0;
    this.duplicates.push(`line ${at}: key ${JSON.stringify(name)} already set in map`);
  }
}

function isMergeKey(key: unknown): boolean {
  return isScalar(key) && (typeof key.value === 'symbol' || (key.value === '<<' && key.type === 'PLAIN'));
}

function asList(value: Parsed): readonly ParsedObject[] {
  const list = Array.isArray(value) ? value : [value];
  return list.map((item) => {
    if (item === null || typeof item !== 'object' || Array.isArray(item) || item instanceof NumberLiteral)
      throw new YamlSyntaxError('yaml: map merge requires map or sequence of maps as the value');
    return item;
  });
}

function keyText(value: Parsed | undefined): string {
  if (value instanceof NumberLiteral) return value.text;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new YamlSyntaxError(
    `error converting YAML to JSON: unsupported map key: ${JSON.stringify(value ?? 'collection')}`,
  );
}

function scalarValue(node: Scalar): Parsed {
  const { value } = node;
  if (value === null || value === undefined || typeof value === 'string' || typeof value === 'boolean')
    return value ?? null;
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (typeof value === 'bigint' || typeof value === 'number') {
    const double = Number(value);
    if (Number.isSafeInteger(double)) return double;
    if (!Number.isFinite(double))
      throw new YamlSyntaxError(`error converting YAML to JSON: json: unsupported value: ${double}`);
    return new NumberLiteral(String(value));
  }
  return String(node.source ?? '');
}
