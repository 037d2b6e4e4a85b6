import { formatFieldError } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { checkDeleteOptions, deleteOptionsOfQuery } from './delete-options.ts';
import { parseListOptions } from './list-options.ts';
import { managerOfUserAgent, parseWriteOptions } from './write-options.ts';

const query = (text: string): URLSearchParams => new URLSearchParams(text);

describe('list options', () => {
  const FORBIDDEN = {
    unlessVersion: 'resourceVersionMatch is forbidden unless resourceVersion is provided',
    withContinue: 'resourceVersionMatch is forbidden when continue is provided',
    exactZero: 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    initialOfList: 'sendInitialEvents is forbidden for list',
    initialMatch: 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    unlessInitial: 'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
  } as const;
  type Rule = keyof typeof FORBIDDEN | 'unsupported';

  it.each<[string, readonly Rule[]]>([
    ['', []],
    ['limit=5&continue=x&resourceVersion=7', []],
    ['resourceVersionMatch=Exact&resourceVersion=5', []],
    ['resourceVersionMatch=NotOlderThan&resourceVersion=0', []],
    ['resourceVersionMatch=Exact', ['unlessVersion']],
    ['resourceVersionMatch=NotOlderThan', ['unlessVersion']],
    ['resourceVersionMatch=x&continue=y', ['unlessVersion', 'withContinue', 'unsupported']],
    ['resourceVersionMatch=Exact&resourceVersion=0', ['exactZero']],
    ['resourceVersionMatch=Exact&resourceVersion=0&continue=x', ['withContinue', 'exactZero']],
    ['sendInitialEvents=false', ['initialOfList']],
    ['sendInitialEvents=true&resourceVersionMatch=NotOlderThan', ['unlessVersion', 'initialOfList']],
    ['watch=1', []],
    ['watch=1&resourceVersion=5', []],
    ['watch=1&resourceVersion=5&continue=x', []],
    ['watch=1&continue=x', ['withContinue']],
    ['watch=1&resourceVersion=0&continue=x', ['withContinue']],
    ['watch=1&sendInitialEvents=true', ['initialMatch']],
    ['watch=1&sendInitialEvents=false&resourceVersion=5', ['initialMatch']],
    ['watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan', []],
    ['watch=1&sendInitialEvents=true&resourceVersionMatch=Exact', ['initialMatch', 'unsupported']],
    ['watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=5', ['unlessInitial']],
    ['watch=1&resourceVersionMatch=Exact&continue=x', ['unlessInitial', 'unsupported', 'withContinue']],
  ])('%j breaks the rules %j', (text, rules) => {
    const causes = parseListOptions(query(text)).faults?.map(formatFieldError);
    const wanted = rules.map((rule) =>
      rule === 'unsupported'
        ? expect.stringMatching(/^Unsupported value: "(x|Exact)"/)
        : `Forbidden: ${FORBIDDEN[rule]}`,
    );
    expect(causes).toEqual(wanted);
  });

  it('let a watch that names no version begin with what exists', () => {
    const begins = (text: string) => parseListOptions(query(text)).sendInitialEvents;
    expect(begins('watch=1')).toBe(true);
    expect(begins('watch=1&resourceVersion=0')).toBe(true);
    expect(begins('watch=1&resourceVersion=9')).toBeUndefined();
    expect(begins('watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan')).toBe(false);
    expect(begins('')).toBeUndefined();
  });

  it('refuses numbers that are none, in Go words, and takes any word for true', () => {
    expect(() => parseListOptions(query('limit=abc'))).toThrow('strconv.ParseInt: parsing "abc": invalid syntax');
    expect(() => parseListOptions(query('limit='))).toThrow('strconv.ParseInt: parsing "": invalid syntax');
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
