import { describe, expect, it } from 'vitest';
import { certificateGroups } from './certificate-store.ts';

const hostsOf = (certificates: Readonly<Record<string, string>>) =>
  [...certificateGroups(new Map(Object.entries(certificates))).values()].map(({ hosts, pem }) => [
    pem,
    hosts.length,
    hosts.join(' ').length,
  ]);

describe('the lines of the list of certificates', () => {
  it('have the hosts of one certificate together', () => {
    expect(hostsOf({ 'a.example': 'A', 'b.example': 'B', 'c.example': 'A' })).toEqual([
      ['A', 2, 19],
      ['B', 1, 9],
    ]);
  });

  it('have 16 hosts and 1,500 characters at most', () => {
    const short = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`h${index}`, 'A']));
    expect(hostsOf(short).map(([, count]) => count)).toEqual([16, 16, 8]);
    const long = Object.fromEntries(
      Array.from({ length: 12 }, (_, index) => [`${String(index).padStart(2, '0')}${'x'.repeat(248)}`, 'A']),
    );
    expect(hostsOf(long).map(([, count]) => count)).toEqual([5, 5, 2]);
    for (const [, , length] of hostsOf(long)) expect(length).toBeLessThanOrEqual(1500);
  });

  it('are called by their content', () => {
    const names = (host: string, pem: string) => [...certificateGroups(new Map([[host, pem]])).keys()];
    const [name] = names('a.example', 'A');
    expect(name).toMatch(/^certificate-[0-9a-f]{64}$/);
    expect(names('a.example', 'A')).toEqual([name]);
    expect(names('a.example', 'B')).not.toEqual([name]);
    expect(names('b.example', 'A')).not.toEqual([name]);
  });
});
