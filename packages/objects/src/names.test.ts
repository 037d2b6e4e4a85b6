import { describe, expect, it } from 'vitest';
import {
  configKey,
  dns1123Label,
  dns1123Subdomain,
  envVarName,
  labelValue,
  longName,
  percent,
  portName,
  qualifiedName,
  subdomainName,
} from './names.ts';

describe('names', () => {
  it.each<[string, (value: string) => readonly string[], string[]]>([
    ['labels', dns1123Label, ['a', 'a-1', '0', 'x'.repeat(63)]],
    ['subdomains', dns1123Subdomain, ['a', 'a.b-c.0', 'x'.repeat(253)]],
    ['qualified names', qualifiedName, ['A', 'a.b_c-D', 'example.org/A', `example.org/${'x'.repeat(63)}`]],
    ['label values', labelValue, ['', 'A', 'a.b_c-D']],
    ['config keys', configKey, ['a', '.a', 'A_b-c.d', '...a'.slice(2)]],
    ['port names', portName, ['a', 'http-2', '1a']],
    ['environment variables', envVarName, ['A', 'a b', '1', 'x.y-z']],
    ['percentages', percent, ['0%', '100%']],
  ])('take right %s', (_, rule, values) => {
    for (const value of values) expect(rule(value), value).toEqual([]);
  });

  it.each<[string, (value: string) => readonly string[], string[]]>([
    ['labels', dns1123Label, ['', '-a', 'a-', 'A', 'a.b', 'x'.repeat(64)]],
    ['subdomains', dns1123Subdomain, ['', '.', 'a..b', '-a', 'A', 'x'.repeat(254)]],
    ['qualified names', qualifiedName, ['', 'a/b/c', '/a', 'a/', 'A/b', '-a', 'x'.repeat(64)]],
    ['label values', labelValue, ['-a', 'a b', 'x'.repeat(64)]],
    ['config keys', configKey, ['', '.', '..', '..a', 'a b', 'x'.repeat(254)]],
    ['port names', portName, ['', '1', 'a--b', '-a', 'A', 'x'.repeat(16)]],
    ['environment variables', envVarName, ['', 'a=b', 'é']],
    ['percentages', percent, ['', '1', '-1%', '1.5%']],
  ])('refuse wrong %s', (_, rule, values) => {
    for (const value of values) expect(rule(value), value).not.toEqual([]);
  });

  it('say what is wrong in the words of Kubernetes', () => {
    expect(dns1123Label('a.b')).toEqual(['must not contain dots']);
    expect(qualifiedName('x'.repeat(64))).toEqual(['name part must be no more than 63 bytes']);
    expect(percent('x')).toEqual([
      "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
    ]);
  });

  it('let a prefix end in a dash', () => {
    expect(subdomainName('web-', true)).toEqual([]);
    expect(subdomainName('web-', false)).not.toEqual([]);
  });
});

it('a length is told in the unit of the rule that Kubernetes uses', () => {
  const long = 'x'.repeat(254);
  expect(subdomainName(long, false)).toEqual(['must be no more than 253 characters']);
  expect(longName(long, false)).toEqual(['must be no more than 253 bytes']);
  expect(qualifiedName(`${long}/a`)).toEqual(['prefix part must be no more than 253 bytes']);
});
