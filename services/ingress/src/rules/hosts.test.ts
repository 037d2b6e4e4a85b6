import { describe, expect, it } from 'vitest';
import { backend, ingress, OURS, rule } from '../testing/objects.ts';
import { plan, planAfter, refusals, routes } from '../testing/plans.ts';
import { planIngresses } from './plan.ts';
import { leaveOut } from './planned-part.ts';

const at = (host: string, ...paths: readonly string[]) => ({ rules: [rule(host, ...paths)] });
const secured = (...hosts: string[]) => ({ tls: [{ hosts, secretName: 'good' }] });
const LIVE = ingress('b/live', { ...at('shop.example', 'Prefix /app web:80'), ...secured('shop.example') }, 9);

describe('a host that is served', () => {
  const before = plan(LIVE).owners;

  it.each([
    ['the path', at('shop.example', 'Prefix /app web:80')],
    ['a longer path', at('shop.example', 'Prefix /app/login web:80')],
    ['a whole path', at('shop.example', 'Exact /app web:80')],
    ['the rest of it', at('shop.example', 'Prefix / web:80')],
    ['it in other letters', at('SHOP.example', 'Prefix / web:80')],
    ['its certificate', secured('shop.example')],
    ['a default backend', { defaultBackend: backend('web:80'), rules: [{ host: 'shop.example' }] }],
  ])('stays with its namespace where an older Ingress of another one then names %s', (_, spec) => {
    const found = planAfter(before, ingress('a/old', spec, 1), LIVE);
    expect(routes(found)).toEqual(['prefix shop.example/app/ -> b/web/http/http']);
    expect([...found.certificates]).toEqual([['shop.example', 'B']]);
    expect(refusals(found).filter((text) => !text.startsWith('a/old: HostTaken: '))).toEqual([]);
    expect(refusals(found)).toHaveLength(1);
  });

  it('is free when no Ingress of its namespace names it, and then the oldest one has it', () => {
    const freed = planAfter(before, ingress('b/live', at('b.example', 'Prefix / web:80'), 9));
    expect([...freed.owners]).toEqual([['b.example', 'b']]);
    const [young, old] = [ingress('b/young', at('shop.example', 'Prefix / web:80'), 8), LIVE];
    const found = planAfter(freed.owners, young, old, ingress('a/old', at('shop.example', 'Prefix / web:81'), 1));
    expect(routes(found)).toEqual(['prefix shop.example/ -> a/web/grpc/h2c']);
  });

  it('stays with its namespace while an Ingress is replaced by another one', () => {
    const found = planAfter(
      before,
      ingress('a/old', at('shop.example', 'Prefix / web:80'), 1),
      ingress('b/next', at('shop.example', 'Prefix / web:81'), 20),
    );
    expect(routes(found)).toEqual(['prefix shop.example/ -> b/web/grpc/h2c']);
  });

  it('stays with its namespace while the class is missing, and is not served; another class frees it', () => {
    const of = (classes: readonly (typeof OURS)[], live = LIVE) =>
      planIngresses({
        ingresses: [ingress('a/old', at('shop.example', 'Prefix / web:80'), 1), live],
        classes,
        owners: before,
        serviceOf: () => undefined,
        secretOf: () => ({ kind: 'missing' }),
      });
    const none = of([]);
    expect([none.served, [...none.owners]]).toEqual([[], [['shop.example', 'b']]]);
    const other = { ...OURS, metadata: { name: 'other' }, spec: { controller: 'example.org/other' } };
    const moved = { ...LIVE, spec: { ...LIVE.spec, ingressClassName: 'other' } };
    expect([...of([OURS, other], moved).owners]).toEqual([['shop.example', 'a']]);
  });
});

describe('a host of a namespace with an Ingress that was left out', () => {
  const before = plan(LIVE).owners;
  const left = leaveOut(LIVE);
  const wants = ingress('a/x', { ...at('shop.example', 'Prefix / web:80'), ...secured('shop.example') }, 1);

  it('stays with it: it is not served, and no other namespace has it', () => {
    const found = planAfter(before, wants, left);
    expect([...found.owners]).toEqual([['shop.example', 'b']]);
    expect([routes(found), [...found.certificates]]).toEqual([[], []]);
    expect(refusals(found).filter((text) => text.startsWith('a/x: '))).toEqual([
      'a/x: HostTaken: spec.rules[0].host: another namespace has the host "shop.example"',
      'a/x: HostTaken: spec.tls[0].hosts: another namespace has the host "shop.example"',
    ]);
    expect(routes(planAfter(found.owners, wants, LIVE)), 'when it is read again').toEqual([
      'prefix shop.example/app/ -> b/web/http/http',
    ]);
  });

  it('stays with it while the class is missing, and when it has come back', () => {
    const of = (classes: readonly (typeof OURS)[], owners: ReadonlyMap<string, string>) =>
      planIngresses({
        ingresses: [wants, left],
        classes,
        owners,
        serviceOf: () => undefined,
        secretOf: () => ({ kind: 'missing' }),
      }).owners;
    const without = of([], before);
    expect([...without]).toEqual([['shop.example', 'b']]);
    expect([...of([OURS], without)]).toEqual([['shop.example', 'b']]);
  });

  it('is free when the namespace has no such Ingress any more, or one of another class', () => {
    expect([...planAfter(before, wants).owners]).toEqual([['shop.example', 'a']]);
    expect([...planAfter(before, wants, ingress('b/other', {}, 3)).owners]).toEqual([['shop.example', 'a']]);
    const moved = leaveOut({ ...LIVE, spec: { ...LIVE.spec, ingressClassName: 'other' } });
    expect([...planAfter(before, wants, moved).owners]).toEqual([['shop.example', 'a']]);
  });

  it('below a wildcard of another namespace is closed to it', () => {
    const wide = ingress('a/wide', at('*.example', 'Prefix / web:80'), 1);
    expect([...planAfter(before, wide, left).closed]).toEqual(['shop.example/']);
  });

  it('counts for its share, so that it cannot gather hosts', () => {
    const owners = new Map(Array.from({ length: 500 }, (_, index) => [`${index}.example`, 'b'] as const));
    const found = planAfter(owners, left, ingress('b/more', at('more.example', 'Prefix / web:80'), 2));
    expect([found.owners.size, found.owners.has('more.example')]).toEqual([500, false]);
  });
});

describe('hosts and wildcards', () => {
  const wildcard = ingress('b/wildcard', at('*.example', 'Prefix / web:80'), 5);
  const before = plan(wildcard).owners;

  it('a host below a wildcard belongs to the namespace of the wildcard', () => {
    const found = planAfter(
      before,
      wildcard,
      ingress('a/exact', { ...at('x.example', 'Prefix / web:80'), ...secured('x.example') }, 1),
      ingress('b/exact', at('y.example', 'Prefix / web:81'), 9),
    );
    expect(routes(found)).toEqual(['prefix *.example/ -> b/web/http/http', 'prefix y.example/ -> b/web/grpc/h2c']);
    expect(refusals(found)).toEqual([
      'a/exact: HostTaken: spec.rules[0].host: another namespace has the host "*.example"',
      'a/exact: HostTaken: spec.tls[0].hosts: another namespace has the host "*.example"',
    ]);
    expect([...found.closed]).toEqual([]);
  });

  it('of two that are new, the older one counts', () => {
    const exact = (age: number) => ingress('a/exact', at('x.example', 'Prefix / web:80'), age);
    expect([...plan(wildcard, exact(6)).owners]).toEqual([['*.example', 'b']]);
    expect([...plan(wildcard, exact(4)).owners]).toEqual([
      ['x.example', 'a'],
      ['*.example', 'b'],
    ]);
  });

  it.each(['*.example', ''])('no request of a host goes to another namespace that has %j', (host) => {
    const exact = ingress('a/exact', at('x.example', 'Prefix /app web:80'), 1);
    const wide = ingress('b/wide', at(host, 'Prefix / web:80'), 2);
    expect([...plan(exact, wide).closed]).toEqual(['x.example/']);
    expect([...plan(exact, { ...wide, metadata: { ...wide.metadata, namespace: 'a' } }).closed]).toEqual([]);
    const whole = ingress('a/exact', at('x.example', 'Prefix / web:80'), 1);
    expect([...plan(whole, wide).closed]).toEqual([]);
  });

  it('a wildcard of the same namespace takes what its hosts leave, and ends there', () => {
    const found = plan(
      ingress('a/exact', at('x.example', 'Prefix /app web:80'), 1),
      ingress('a/wildcard', at('*.example', 'Prefix /all web:80'), 2),
      ingress('b/any', { defaultBackend: backend('web:80') }, 3),
    );
    expect([...found.closed]).toEqual(['*.example/']);
  });

  it('a host of one label is below no wildcard', () => {
    const any = ingress('b/any', at('', 'Prefix / web:80'), 1);
    const found = plan(any, ingress('a/local', at('localhost', 'Prefix /x web:80'), 2));
    expect(routes(found)).toContain('prefix localhost/x/ -> a/web/http/http');
    expect([...found.closed]).toEqual(['localhost/']);
  });
});

it('rules without a host and default backends without rules belong to one namespace', () => {
  const found = plan(
    ingress('a/any', at('', 'Prefix /a web:80'), 1),
    ingress('a/more', { defaultBackend: backend('web:81') }, 2),
    ingress('b/any', at('', 'Prefix /b web:80'), 3),
    ingress('b/default', { defaultBackend: backend('web:80') }, 4),
  );
  expect(routes(found)).toEqual(['prefix */a/ -> a/web/http/http', 'prefix */ -> a/web/grpc/h2c']);
  expect(refusals(found)).toEqual([
    'b/any: HostTaken: spec.rules[0].host: another namespace has the rules without a host',
    'b/default: HostTaken: spec.defaultBackend: another namespace has the rules without a host',
  ]);
});

describe('the hosts of a namespace', () => {
  const many = (namespace: string, count: number, age = 0) =>
    ingress(
      `${namespace}/many`,
      { rules: Array.from({ length: count }, (_, index) => ({ host: `${namespace}${index}` })) },
      age,
    );

  it('are at most 500; those that it has stay', () => {
    const owners = new Map([['a600', 'a']]);
    const found = planAfter(owners, many('a', 601), ingress('b/one', at('b.example', 'Prefix / web:80'), 9));
    expect(found.owners.size).toBe(501);
    expect(found.owners.get('a600')).toBe('a');
    expect(refusals(found)[0]).toBe(
      'a/many: TooManyHosts: spec.rules[499].host: the namespace names more than 500 hosts',
    );
  });

  it('are a fair share of 10,000 in all', () => {
    const ingresses = Array.from({ length: 30 }, (_, index) => many(`n${index}-`, 500));
    const found = plan(...ingresses, ingress('z/one', at('z.example', 'Prefix / web:80'), 59));
    expect(found.owners.get('z.example')).toBe('z');
    expect(found.owners.size).toBe(30 * 333 + 1);
    expect(refusals(found)[0]).toMatch(/the namespace names more than 333 hosts$/);
  });

  it('stay with it where others push its share below what it has: they are not served, and reserved', () => {
    const rules = Array.from({ length: 400 }, (_, index) => ({ host: `v${index}.example` }));
    const victim = ingress('v-/many', { rules }, 59);
    const before = plan(victim).owners;
    const others = Array.from({ length: 40 }, (_, index) => many(`n${index}-`, 500));
    const wants = ingress('a/x', at('v399.example', 'Prefix / web:80'), 1);
    const found = planAfter(before, ...others, wants, victim);
    expect([...found.owners].filter(([, namespace]) => namespace === 'v-')).toHaveLength(400);
    expect(refusals(found).filter((text) => text.startsWith('a/x'))).toEqual([
      'a/x: HostTaken: spec.rules[0].host: another namespace has the host "v399.example"',
    ]);
    expect(refusals(found).filter((text) => text.startsWith('v-/many'))[0]).toMatch(
      /TooManyHosts: .* names more than 243 hosts$/,
    );
    const fewer = planAfter(found.owners, victim, wants);
    expect(refusals(fewer).filter((text) => text.startsWith('v-/many'))).toEqual([]);
  });
});
