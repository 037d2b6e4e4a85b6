import type { Parsed, ParsedObject } from '../values/json-parser.ts';
import { Entries, type Key, keyOf, type Properties, tagged, YamlNodes } from './yaml-nodes.ts';
import { resolvePlain } from './yaml-scalar.ts';
import { YamlText } from './yaml-text.ts';

export { YamlSyntaxError } from './yaml-scalar.ts';

export interface YamlResult {
  readonly value: Parsed;
  /** Messages such as `line 7: key "a" already set in map`, worded as Go's decoder words them; the first hundred. */
  readonly duplicates: readonly string[];
}

/**
 * Reads the first document by the YAML 1.1 rules of Go's decoder (`y` is true, times are strings), in linear time. Values repeated by
 * aliases are counted each time. Throws YamlSyntaxError, or StatusError RequestEntityTooLarge when there are more values than a request may
 * have.
 */
export function parseYamlText(text: string): YamlResult {
  return new YamlParser(text).parse();
}

/**
 * The position of a node in a block. `compact`: collections may start on the same line. `indentless`: sequences may start at the block's
 * own column.
 */
interface Place {
  readonly compact: boolean;
  readonly indentless: boolean;
}

const VALUE: Place = { compact: false, indentless: true };
const ITEM: Place = { compact: true, indentless: false };
const EXPLICIT: Place = { compact: true, indentless: true };
const ROOT: Place = { compact: false, indentless: false };

class YamlParser {
  readonly #text: YamlText;
  readonly #duplicates: string[] = [];
  readonly #nodes: YamlNodes;
  /** Source text of the last scalar. */
  #scalarText = '';

  constructor(text: string) {
    this.#text = new YamlText(text);
    this.#nodes = new YamlNodes(this.#text);
  }

  parse(): YamlResult {
    const text = this.#text;
    text.skip('block');
    while (text.character === '%' && text.column === 0) {
      text.skipLine();
      text.skip('block');
    }
    let isFresh = true;
    if (text.atMarker && text.character === '-') {
      text.move(3);
      isFresh = text.skip('block');
    }
    const value = this.#content(-1, ROOT, isFresh);
    text.skip('block');
    if (!text.ended) text.fail('did not find expected <document start>');
    return { value, duplicates: this.#duplicates };
  }

  /** The node after an indicator of a block at column `indent`. */
  #node(indent: number, place: Place): Parsed {
    return this.#content(indent, place, this.#text.skip('block'));
  }

  /** A node at the next token. `outer` holds properties from an earlier line. */
  #content(indent: number, place: Place, isFresh: boolean, outer?: Properties): Parsed {
    const text = this.#text;
    if (text.ended) return this.#nodes.empty(outer);
    const { column } = text;
    if (isFresh && column <= indent) {
      const isSequence = place.indentless && column === indent && text.isIndicator('-');
      return isSequence
        ? this.#nodes.anchored(outer, () => this.#sequence(column, 'indentless'))
        : this.#nodes.empty(outer);
    }
    const mayOpen = isFresh || place.compact;
    if (text.isIndicator('-')) {
      if (!mayOpen) text.fail('block sequence entries are not allowed in this context');
      return this.#nodes.anchored(outer, () => this.#sequence(column, 'indented'));
    }
    if (text.isIndicator('?') || text.isIndicator(':')) {
      if (!mayOpen) text.fail('mapping values are not allowed in this context');
      return this.#nodes.anchored(outer, () => this.#mapping(column, undefined));
    }
    const start = text.at;
    const own = this.#nodes.properties();
    if (own !== undefined && text.skip('block')) {
      if (outer !== undefined) text.fail('did not find expected node content');
      return this.#content(indent, place, true, own);
    }
    if (own !== undefined && text.ended) return this.#nodes.empty(own);
    if (text.character === '|' || text.character === '>') {
      const scalar = text.block(indent);
      return this.#nodes.anchored(outer ?? own, () => tagged(scalar, (outer ?? own)?.tag));
    }
    return this.#lineNode({ indent, column, start, mayOpen }, outer, own);
  }

  /** A node that starts on this line: a flow node or the first key of a mapping. */
  #lineNode(
    at: { readonly indent: number; readonly column: number; readonly start: number; readonly mayOpen: boolean },
    outer: Properties | undefined,
    own: Properties | undefined,
  ): Parsed {
    const text = this.#text;
    const { lineStart } = text;
    const first = text.character;
    const before = this.#nodes.values;
    const read = this.#flowNode(at.indent + 1, 'block', own);
    if (!text.atColon('spaced', 'block')) {
      if (outer === undefined) return read;
      // Only at this point is it known that the outer properties belong to this node, not to a mapping that it is a key of.
      const isTagged = outer.tag !== undefined && first !== '[' && first !== '{' && first !== '*';
      return this.#nodes.remember(outer, isTagged ? tagged(this.#scalarText, outer.tag) : read, before);
    }
    if (!at.mayOpen || text.lineStart !== lineStart) text.fail('mapping values are not allowed in this context');
    return this.#nodes.anchored(outer, () => this.#mapping(at.column, keyOf(read, first, at.start)));
  }

  #sequence(column: number, kind: 'indented' | 'indentless'): Parsed[] {
    const text = this.#text;
    const items: Parsed[] = [];
    this.#nodes.enter();
    for (;;) {
      text.move(1);
      items.push(this.#node(column, ITEM));
      text.skip('block');
      if (text.ended || text.column < column) break;
      if (text.column > column || !text.isIndicator('-')) {
        if (text.column === column && kind === 'indentless') break;
        text.fail("did not find expected '-' indicator");
      }
    }
    this.#nodes.leave();
    return items;
  }

  #mapping(column: number, first: Key | undefined): ParsedObject {
    const text = this.#text;
    const entries = new Entries(this.#duplicates, (at) => text.lineAt(at));
    this.#nodes.enter();
    let key = first;
    for (;;) {
      if (key === undefined && text.isIndicator('?')) this.#explicitEntry(column, entries);
      else {
        key ??= this.#implicitKey();
        text.move(1);
        entries.set(key, this.#node(column, VALUE));
      }
      key = undefined;
      text.skip('block');
      if (text.ended || text.column < column) break;
      if (text.column > column) text.fail('did not find expected key');
    }
    this.#nodes.leave();
    return entries.object();
  }

  #explicitEntry(column: number, entries: Entries): void {
    const text = this.#text;
    const { at } = text;
    text.move(1);
    const key = this.#node(column, EXPLICIT);
    text.skip('block');
    const hasValue = !text.ended && text.column === column && text.isIndicator(':');
    if (hasValue) text.move(1);
    entries.set(keyOf(key, '', at), hasValue ? this.#node(column, EXPLICIT) : null);
  }

  #implicitKey(): Key {
    const text = this.#text;
    const { at, lineStart } = text;
    if (text.isIndicator(':')) return keyOf(null, '', at);
    if (text.isIndicator('-')) text.fail('block sequence entries are not allowed in this context');
    const properties = this.#nodes.properties();
    const first = text.character;
    const key = this.#flowNode(0, 'block', properties);
    if (text.lineStart !== lineStart || !text.atColon('spaced', 'block')) text.fail("could not find expected ':'");
    return keyOf(key, first, at);
  }

  /** An alias, a scalar, or a collection in brackets. */
  #flowNode(indent: number, context: 'block' | 'flow', properties: Properties | undefined): Parsed {
    const text = this.#text;
    switch (text.character) {
      case '*':
        if (properties !== undefined) text.fail('did not find expected node content');
        return this.#nodes.alias();
      case '[':
        return this.#nodes.anchored(properties, () => this.#flowSequence());
      case '{':
        return this.#nodes.anchored(properties, () => this.#flowMapping());
      case "'":
        return this.#scalar(text.singleQuoted(), properties);
      case '"':
        return this.#scalar(text.doubleQuoted(), properties);
      default: {
        if (!this.#startsPlain(context)) text.fail(cannotStart(text.character));
        const plain = text.plain(indent, context);
        this.#scalarText = plain;
        if (properties?.tag !== undefined) return this.#scalar(plain, properties);
        return this.#nodes.anchored(properties, () => resolvePlain(plain));
      }
    }
  }

  #startsPlain(context: 'block' | 'flow'): boolean {
    const { character } = this.#text;
    if (character !== '-' && character !== '?' && character !== ':') return isPlainStart(character);
    return context === 'flow' ? character !== ':' : !this.#text.isIndicator(character);
  }

  #scalar(scalar: string, properties: Properties | undefined): Parsed {
    this.#scalarText = scalar;
    return this.#nodes.anchored(properties, () => tagged(scalar, properties?.tag));
  }

  #flowSequence(): Parsed[] {
    const text = this.#text;
    const items: Parsed[] = [];
    this.#nodes.enter();
    text.move(1);
    for (;;) {
      text.skip('flow');
      if (text.character === ']') break;
      items.push(this.#flowItem());
      text.skip('flow');
      if (text.character === ',') text.move(1);
      else if (text.character !== ']') text.fail("did not find expected ',' or ']'");
    }
    text.move(1);
    this.#nodes.leave();
    return items;
  }

  /** An item of a flow sequence; `a: b` is a map with one member. */
  #flowItem(): Parsed {
    const text = this.#text;
    const { at } = text;
    const isExplicit = text.isIndicator('?');
    const key = this.#flowKey();
    if (!isExplicit && !this.#flowColon(isJsonLike(key.first))) return key.value;
    const entries = new Entries(this.#duplicates, (place) => text.lineAt(place));
    entries.set(keyOf(key.value, key.first, at), this.#flowValue(isExplicit, isJsonLike(key.first)));
    return entries.object();
  }

  #flowMapping(): ParsedObject {
    const text = this.#text;
    const entries = new Entries(this.#duplicates, (at) => text.lineAt(at));
    this.#nodes.enter();
    text.move(1);
    for (;;) {
      text.skip('flow');
      if (text.character === '}') break;
      const { at } = text;
      const key = this.#flowKey();
      entries.set(keyOf(key.value, key.first, at), this.#flowValue(true, isJsonLike(key.first)));
      text.skip('flow');
      if (text.character === ',') text.move(1);
      else if (text.character !== '}') text.fail("did not find expected ',' or '}'");
    }
    text.move(1);
    this.#nodes.leave();
    return entries.object();
  }

  #flowKey(): { readonly value: Parsed; readonly first: string } {
    const text = this.#text;
    if (text.isIndicator('?')) {
      text.move(1);
      text.skip('flow');
    }
    const properties = this.#nodes.properties();
    if (properties !== undefined) text.skip('flow');
    const { character } = text;
    if (
      character === ':' ||
      (properties !== undefined && (character === ',' || character === ']' || character === '}'))
    )
      return { value: this.#nodes.empty(properties), first: '' };
    if (character === ',' || character === '') text.fail('did not find expected node content');
    return { value: this.#flowNode(0, 'flow', properties), first: character };
  }

  #flowColon(quoted: boolean): boolean {
    return this.#text.atColon(quoted ? 'adjacent' : 'spaced', 'flow');
  }

  /** The value of a key in a flow mapping; null if there is none. `onLaterLine`: the colon may be on a later line. */
  #flowValue(onLaterLine: boolean, quoted: boolean): Parsed {
    const text = this.#text;
    if (onLaterLine) text.skip('flow');
    if (!this.#flowColon(quoted)) return this.#nodes.empty(undefined);
    text.move(1);
    text.skip('flow');
    const properties = this.#nodes.properties();
    if (properties !== undefined) text.skip('flow');
    const { character } = text;
    if (character === ',' || character === '}' || character === ']') return this.#nodes.empty(properties);
    if (character === '') text.fail('did not find expected node content');
    return this.#flowNode(0, 'flow', properties);
  }
}

function isPlainStart(character: string): boolean {
  return character !== '' && !',[]{}#&*!|>\'"%@`'.includes(character);
}

function cannotStart(character: string): string {
  return ',[]{}'.includes(character)
    ? 'did not find expected node content'
    : 'found character that cannot start any token';
}

/** Whether a key that starts with this character needs no blank after its colon. */
function isJsonLike(first: string): boolean {
  return first === '"' || first === "'" || first === '[' || first === '{';
}
