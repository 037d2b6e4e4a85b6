import { describe, expect, it } from 'vitest';
import {
  checkDeleteOptions,
  checkListOptions,
  deleteOptionsOfQuery,
  managerOfUserAgent,
  parseListOptions,
  parseWriteOptions,
} from './query.ts';

const query = (text: string): URLSearchParams => new URLSearchParams(text);

describe('list options', () => {
  it.each([
    ['sendInitialEvents=true', 'list', 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list'],
    ['sendInitialEvents=true', 'watch', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'],
    ['resourceVersionMatch=Exact', 'list', 'resourceVersionMatch is forbidden unless resourceVersion is provided'],
    [
      'resourceVersionMatch=x&resourceVersion=1',
      'list',
      'Unsupported value: "x": supported values: "", "Exact", "NotOlderThan"',
    ],
    ['resourceVersionMatch=Exact&resourceVersion=0', 'list', '"exact" is forbidden for resourceVersion "0"'],
    [
      'resourceVersionMatch=Exact&resourceVersion=5',
      'watch',
      'is forbidden for watch unless sendInitialEvents is provided',
    ],
    ['continue=x', 'watch', 'resourceVersionMatch is forbidden when continue is provided'],
  ] as const)('%s on a %s is Invalid', (text, verb, message) => {
    expect(() => checkListOptions(parseListOptions(query(text)), verb)).toThrow(message);
  });

  it('refuses numbers that are none, in Go words, and takes any word for true', () => {
    expect(() => parseListOptions(query('limit=abc'))).toThrow('strconv.ParseInt: parsing "abc": invalid syntax');
    expect(() => parseListOptions(query('timeoutSeconds=99999999999999999999'))).toThrow('value out of range');
    expect(parseListOptions(query('allowWatchBookmarks=maybe')).allowBookmarks).toBe(true);
    expect(parseListOptions(query('watch=0')).watch).toBe(false);
  });
});

describe('write options', () => {
  it.each([
    [
      'dryRun=Bogus',
      'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Bogus"]: supported values: "All"',
    ],
    ['fieldValidation=Bogus', 'supported values: "", "Ignore", "Strict", "Warn"'],
    [`fieldManager=${'m'.repeat(129)}`, 'fieldManager: Too long: may not be more than 128 bytes'],
    ['fieldManager=a%01b', 'Invalid value: "a\\x01b": invalid character U+0001 (at position 1)'],
  ])('%s is Invalid', (text, message) => {
    expect(() => parseWriteOptions(query(text), 'CreateOptions', undefined)).toThrow(message);
  });

  it('takes the manager from the User-Agent', () => {
    expect(managerOfUserAgent('kubectl/v1.33.0 (linux/amd64)')).toBe('kubectl');
    expect(managerOfUserAgent(undefined)).toBe('unknown');
    expect(managerOfUserAgent('x'.repeat(200))).toHaveLength(128);
  });
});

describe('delete options', () => {
  it('refuses unknown policies and contradictions', () => {
    expect(() => checkDeleteOptions({ propagationPolicy: 'Bogus' })).toThrow(
      'propagationPolicy: Unsupported value: "Bogus": supported values: "Foreground", "Background", "Orphan", "nil"',
    );
    expect(() => checkDeleteOptions({ propagationPolicy: 'Orphan', orphanDependents: true })).toThrow(
      'cannot be both set',
    );
  });

  it('reads them from the query', () => {
    const raw = deleteOptionsOfQuery(query('gracePeriodSeconds=0&propagationPolicy=Foreground&dryRun=All'));
    expect(checkDeleteOptions(raw)).toEqual({
      options: {
        gracePeriodSeconds: 0,
        preconditions: {},
        propagationPolicy: 'Foreground',
        orphanDependents: undefined,
      },
      dryRun: true,
    });
  });
});
