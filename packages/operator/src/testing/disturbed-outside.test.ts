import { describe, expect, it } from 'vitest';
import { CONFIG_MAPS, type Controller, declare, watchSelf } from '../index.ts';
import { simulate, type Step } from './index.ts';

const key = { namespace: 'default', name: 'site' };
const site = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...key }, data: { names: 'x,y' } };

/** Names in a DNS, and an account that pays for each. */
class Dns {
  readonly names = new Map<string, readonly string[]>();
  readonly accounts: string[] = [];

  async namesOf(uid: string): Promise<readonly string[]> {
    return this.names.get(uid) ?? [];
  }

  async setNames(uid: string, names: readonly string[]): Promise<void> {
    if (names.length === 0) this.names.delete(uid);
    else this.names.set(uid, names);
  }

  async openAccount(of: string): Promise<void> {
    this.accounts.push(of);
  }
}

const sites = (dns: Dns) => ({
  name: 'op',
  controllers: [
    declare({
      name: 'sites',
      for: CONFIG_MAPS,
      owns: [],
      outside: {
        finalizer: 'example.com/names',
        read: ({ metadata }) => dns.namesOf(metadata.uid ?? ''),
        write: (names, { metadata }) => dns.setNames(metadata.uid ?? '', names),
        cleanUp: ({ metadata }) => dns.setNames(metadata.uid ?? '', []),
      },
      desire: ({ object }) => ({ objects: [], outside: (object.data?.['names'] ?? '').split(',') }),
    }),
  ],
});
const rename: Step<Dns> = (client, signal) =>
  client.patch(CONFIG_MAPS, key, { merge: { data: { names: 'y,z' } } }, signal);
const remove: Step<Dns> = (client, signal) => client.delete(CONFIG_MAPS, key, {}, signal);

describe('what is outside of a simulated cluster', () => {
  it('is made anew for each history, and ends as desired whatever fails and crashes', async () => {
    const made: Dns[] = [];
    const report = await simulate({
      outside: () => {
        const dns = new Dns();
        made.push(dns);
        return dns;
      },
      operator: sites,
      objects: [site],
      steps: [rename],
      seeds: 10,
      atEnd: (_objects, _now, dns) => (String([...dns.names.values()]) === 'y,z' ? undefined : 'other names'),
    });
    expect(report.text).toBe('');
    expect(made).toHaveLength(11);
  });

  it('is cleaned up before the object is gone', async () => {
    const report = await simulate({
      outside: () => new Dns(),
      operator: sites,
      objects: [site],
      steps: [rename, remove],
      seeds: 10,
      invariant: (objects, _now, { names }) => {
        const known = new Set(objects.all(CONFIG_MAPS).map(({ metadata }) => metadata.uid));
        return [...names.keys()].every((uid) => known.has(uid)) ? undefined : 'names that no object knows';
      },
      atEnd: (_objects, _now, { names }) => (names.size === 0 ? undefined : 'names are left'),
    });
    expect(report.text).toBe('');
  });

  it('shows calls that are carried out twice because an answer is lost, or the process crashes', async () => {
    const opens = (dns: Dns): Controller => ({
      name: 'accounts',
      watches: [watchSelf(CONFIG_MAPS)],
      rights: [{ resource: CONFIG_MAPS, verbs: ['patch'] }],
      reconcile: async (at, { cache, client }, signal) => {
        const object = cache.get(CONFIG_MAPS, at);
        if (object === undefined || object.data?.['account'] !== undefined) return {};
        await dns.openAccount(at.name);
        await client.patch(CONFIG_MAPS, at, { merge: { data: { account: 'open' } } }, signal);
        return {};
      },
    });
    const options = {
      outside: () => new Dns(),
      operator: (dns: Dns) => ({ name: 'op', controllers: [opens(dns)] }),
      objects: [site],
      invariant: (_objects: unknown, _now: number, { accounts }: Dns) =>
        accounts.length > 1 ? 'two accounts' : undefined,
    };
    const lost = await simulate({ ...options, faults: { answerLost: 1 }, seeds: 1 });
    expect(lost.text).toMatch(/^seed 1, with answerLost.*:\n  two accounts/);
    expect(lost.text).toContain('s outside: openAccount("site")');
    const crashed = await simulate({ ...options, faults: { answerLost: 0, requestFails: 0, crash: 0.5 }, seeds: 20 });
    expect(crashed.failures.map(({ history }) => history.join('\n')).join('\n')).toContain(
      'the process crashes after openAccount("site") outside',
    );
    expect((await simulate({ ...options, faults: 'none', seeds: 5 })).text).toBe('');
  });
});
