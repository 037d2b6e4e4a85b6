import { must } from '@gantry/base';
import { CLOSED_RANGES, parseIpv4Range } from '@gantry/objects';
import type { Container, Element } from './fragment.ts';
import type { TableChange } from './rule-book.ts';

/** The maximum number of elements in one command. nft reads longer lines, but its memory grows with them. */
const ELEMENTS_PER_COMMAND = 500;

/** Replaces the whole table by a skeleton and a change that starts from nothing. nft runs all of it or nothing. */
export function formatReplacement(table: string, skeleton: string, change: TableChange | undefined): string {
  const start = `add table ip ${table}\ndelete table ip ${table}\ntable ip ${table} {\n${skeleton}}\n`;
  return change === undefined ? start : `${start}${formatChange(table, change)}`;
}

/**
 * Writes a change as nft commands. A removed chain loses its rules here, and `formatDeletions` deletes it later: kernels before 6.2 treat
 * a chain as used for a moment after the last element that leads to it is deleted.
 */
export function formatChange(table: string, change: TableChange): string {
  const of = (kind: string, name: string) => `${kind} ip ${table} ${name}`;
  return [
    ...[...change.newSets].map(([name, definition]) => `add ${of('set', name)} { ${definition} }`),
    ...[...change.chains.keys()].map((name) => `add ${of('chain', name)}`),
    ...[...change.chains].flatMap(([name, rules]) => [
      `flush ${of('chain', name)}`,
      ...rules.map((rule) => `add ${of('rule', name)} ${rule}`),
    ]),
    ...formatElements('delete', table, change.goneElements),
    ...formatElements('add', table, change.newElements),
    ...change.goneChains.map((name) => `flush ${of('chain', name)}`),
    ...change.goneSets.map((name) => `delete ${of('set', name)}`),
    '',
  ].join('\n');
}

/** Deletes chains that no rule and no element leads to. */
export function formatDeletions(table: string, chains: Iterable<string>): string {
  return [...chains].map((name) => `delete chain ip ${table} ${name}\n`).join('');
}

function formatElements(verb: 'add' | 'delete', table: string, elements: readonly Element[]): readonly string[] {
  const byContainer = new Map<Container, string[]>();
  for (const { container, key, value } of elements) {
    const keys = byContainer.get(container) ?? [];
    // A deleted element is named by its key. If a verdict is given, nft compares it too.
    keys.push(value === '' || verb === 'delete' ? key : `${key} : ${value}`);
    byContainer.set(container, keys);
  }
  const commands: string[] = [];
  for (const [container, keys] of byContainer) {
    for (let start = 0; start < keys.length; start += ELEMENTS_PER_COMMAND) {
      const part = keys.slice(start, start + ELEMENTS_PER_COMMAND).join(', ');
      commands.push(`${verb} element ip ${table} ${container} { ${part} }`);
    }
  }
  return commands;
}

/** `CLOSED_RANGES` of `@gantry/objects` as numbers. */
export const CLOSED_ADDRESS_RANGES = CLOSED_RANGES.map((text) => must(parseIpv4Range(text), `the range ${text}`));
