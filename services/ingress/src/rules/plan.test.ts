import type { Ingress } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { backend, ingress, OURS, rule, service } from '../testing/objects.ts';
import { plan, refusals, routes } from '../testing/plans.ts';
import { type IngressPlan, planIngresses } from './plan.ts';

describe('the routes of Ingresses', () => {
  it('are hosts with paths; a prefix ends with a slash, whatever its own end', () => {
    const rules = [
      rule('A.example', 'Exact /x web:80', 'Exact /x/ web:80', 'Prefix /x web:http', 'Prefix / web:grpc'),
      rule('*.example', 'ImplementationSpecific /y// web:81'),
      rule('', 'Prefix /z/ web:80'),
    ];
    expect(routes(plan(ingress('a/one', { rules })))).toEqual([
      'exact a.example/x -> a/web/http/http',
      'exact a.example/x/ -> a/web/http/http',
      'prefix a.example/x/ -> a/web/http/http',
      'prefix a.example/ -> a/web/grpc/h2c',
      'prefix *.example/y/ -> a/web/grpc/h2c',
      'prefix */z/ -> a/web/http/http',
    ]);
  });

  it.each([
    ['web:82', 'ServicePortNotFound: spec.rules[0].http.paths[0].backend: the Service "web" has no TCP port "82"'],
    ['web:53', 'ServicePortNotFound: spec.rules[0].http.paths[0].backend: the Service "web" has no TCP port "53"'],
    ['web:dns', 'ServicePortNotFound: spec.rules[0].http.paths[0].backend: the Service "web" has no TCP port "dns"'],
    ['none:80', 'ServiceNotFound: spec.rules[0].http.paths[0].backend: the Service "none" does not exist'],
    [
      'outside:80',
      'ExternalNameService: spec.rules[0].http.paths[0].backend: the Service "outside" is of type ExternalName, whose names could lead anywhere',
    ],
  ])('lead nowhere for the backend %s, and the Event says why', (to, why) => {
    const found = plan(ingress('a/one', { rules: [rule('a.example', `Prefix / ${to}`)] }));
    expect(routes(found)).toEqual(['prefix a.example/ -> nothing']);
    expect(refusals(found)).toEqual([`a/one: ${why}`]);
  });

  it('lead nowhere for backends that are no Services', () => {
    const resource = { kind: 'Bucket', name: 'b' };
    const rules = [{ host: 'a.example', http: { paths: [{ path: '/', pathType: 'Prefix', backend: { resource } }] } }];
    expect(refusals(plan(ingress('a/one', { rules })))).toEqual([
      'a/one: ResourceBackend: spec.rules[0].http.paths[0].backend: backends other than Services are not supported',
    ]);
  });

  it('of one namespace belong to the oldest Ingress that has the host and path, and to its first rule', () => {
    const rules = [rule('a.example', 'Prefix /x web:80')];
    const found = plan(
      ingress('a/young', { rules }, 2),
      ingress('a/old', { rules: [rule('a.example', 'Prefix /x/ none:80', 'Prefix /x web:81')] }, 1),
    );
    expect(routes(found), 'also where its backend is missing').toEqual(['prefix a.example/x/ -> nothing']);
    expect(refusals(found).filter((text) => text.includes('HostPathTaken'))).toEqual([
      'a/old: HostPathTaken: spec.rules[0].http.paths[1]: an older rule has the same host and path',
      'a/young: HostPathTaken: spec.rules[0].http.paths[0]: an older rule has the same host and path',
    ]);
  });

  it('of a default backend take what no rule of its hosts does, and of all hosts where it names none', () => {
    const found = plan(
      ingress(
        'a/hosts',
        { defaultBackend: backend('web:80'), rules: [rule('a.example', 'Exact / web:81'), { host: 'b.example' }] },
        1,
      ),
      ingress('b/all', { defaultBackend: backend('web:80') }, 2),
      ingress('b/late', { defaultBackend: backend('none:80') }, 3),
      ingress('a/rule', { rules: [rule('b.example', 'Prefix / web:81')] }, 4),
    );
    expect(routes(found)).toEqual([
      'exact a.example/ -> a/web/grpc/h2c',
      'prefix b.example/ -> a/web/grpc/h2c',
      'prefix a.example/ -> a/web/http/http',
      'prefix */ -> b/web/http/http',
    ]);
    expect(refusals(found)).toEqual([]);
  });

  it.each([
    '/x b1\nuse_backend b2',
    '/x\r\nHost:',
    '/"x"',
    '/\\x',
    '/a b',
    '/a\tb',
    '/#x{}',
    '/ä',
    '/\u0000',
    'x',
    '',
    `/${'x'.repeat(1024)}`,
  ])('have no path %j, and the rest of the Ingress is served', (hostile) => {
    const http = { paths: [{ path: hostile, pathType: 'ImplementationSpecific', backend: backend('web:80') }] };
    const found = plan(
      ingress('a/one', { rules: [{ host: 'a.example', http }, rule('a.example', 'Prefix /y web:80')] }),
    );
    expect(routes(found)).toEqual(['prefix a.example/y/ -> a/web/http/http']);
    expect(refusals(found)[0]).toMatch(/^a\/one: InvalidPath: spec\.rules\[0\]\.http\.paths\[0\]\.path: /);
  });

  it.each(['a.example\nx', 'a b', 'a;b', '*', '*.*.example', '.example', 'a..b', '-a', `${'x'.repeat(254)}`, 'a/b'])(
    'have no host %j',
    (host) => {
      const found = plan(
        ingress('a/one', { rules: [rule(host, 'Prefix / web:80')], tls: [{ hosts: [host], secretName: 'good' }] }),
      );
      expect(routes(found)).toEqual([]);
      expect(found.certificates.size).toBe(0);
      expect(found.refusals.map(({ refusal }) => refusal.reason)).toEqual(['InvalidHost', 'InvalidHost']);
    },
  );

  it('come from Ingresses of a class of this controller alone; the annotation has precedence', () => {
    const rules = [rule('a.example', 'Prefix / web:80')];
    const one = ingress('a/one', { rules });
    const annotated = (name: string) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { 'kubernetes.io/ingress.class': name } },
    });
    const of = (ingressClassName: string | undefined) => ({
      ...one,
      spec: { rules, ...(ingressClassName === undefined ? {} : { ingressClassName }) },
    });
    const served = [one, annotated('gantry'), annotated('other'), of('other'), of('none'), of(undefined)].map(
      (each) => plan(each).served.length,
    );
    expect(served).toEqual([1, 1, 0, 0, 0, 0]);
  });
});

describe('the certificates of hosts', () => {
  const tls = (secretName: string, ...hosts: string[]) => ({ hosts, secretName });

  it('come from Secrets of the namespace of the Ingress; the oldest Ingress has the host', () => {
    const found = plan(
      ingress('b/young', { tls: [tls('good', 'a.example', 'B.example')] }, 2),
      ingress('a/old', { tls: [tls('good', 'a.example', '*.a.example')] }, 1),
    );
    expect([...found.certificates]).toEqual([
      ['a.example', 'A'],
      ['*.a.example', 'A'],
      ['b.example', 'B'],
    ]);
    expect([...found.secrets]).toEqual(['a/good', 'b/good']);
    expect(refusals(found)).toEqual([
      'b/young: HostTaken: spec.tls[0].hosts: another namespace has the host "a.example"',
    ]);
  });

  it('are for the hosts of the rules where the entry names none', () => {
    const rules = [rule('a.example', 'Prefix / web:80'), rule('', 'Prefix / web:80')];
    expect([...plan(ingress('a/one', { rules, tls: [tls('good')] })).certificates.keys()]).toEqual(['a.example']);
    expect(refusals(plan(ingress('a/one', { tls: [tls('good')] })))[0]).toContain('HostMissing');
  });

  it.each([
    ['bad', 'InvalidCertificate: spec.tls[0]: the Secret "bad" has no usable certificate: it has no tls.key'],
    ['none', 'SecretNotFound: spec.tls[0]: the Secret "none" does not exist'],
  ])('are not there for the Secret %s, and those of others are', (secret, why) => {
    const found = plan(ingress('a/one', { tls: [tls(secret, 'x.example'), tls('good', 'y.example')] }, 1));
    expect([...found.certificates.keys()]).toEqual(['y.example']);
    expect(refusals(found)).toEqual([`a/one: ${why}`]);
  });

  it('are awaited without a word while a Secret has not been read', () => {
    expect(refusals(plan(ingress('a/one', { tls: [tls('unread', 'x.example')] })))).toEqual([]);
  });

  it('are those of 200 Secrets of a namespace; a Secret counts once', () => {
    const many = Array.from({ length: 201 }, (_, index) => tls(`s${index}`, `h${index}.example`));
    const found = plan(ingress('a/one', { tls: [...many, tls('s0', 'again.example')] }));
    expect(found.secrets.size).toBe(200);
    expect(refusals(found).filter((text) => text.includes('TooManySecrets'))).toEqual([
      'a/one: TooManySecrets: spec.tls[200]: the namespace has more than 200 Secrets with certificates',
    ]);
  });
});

describe('what a namespace may have', () => {
  const paths = (count: number, path: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => `Exact /${path(index)}`);
  const many = (key: string, count: number, path = (index: number) => `${index} web:80`) =>
    ingress(key, { rules: [rule(`${key.replace('/', '-')}.example`, ...paths(count, path))] });
  const small = ingress('z/one', { rules: [rule('z.example', 'Exact / web:80')] }, 59);
  const beyond = (of: IngressPlan, reason: string) => refusals(of).filter((text) => text.includes(`: ${reason}: `));

  it('is 2,000 routes, and one refusal for each Ingress beyond; others have theirs', () => {
    const found = plan(many('a/one', 1200), many('a/three', 1200), many('a/two', 1200), small);
    expect(found.exact.size).toBe(2001);
    expect(beyond(found, 'TooManyRoutes')).toEqual([
      'a/three: TooManyRoutes: spec.rules[0].http.paths[800]: the namespace has more than 2000 routes',
      'a/two: TooManyRoutes: spec.rules[0].http.paths[0]: the namespace has more than 2000 routes',
    ]);
  });

  it('is fewer routes where they are long: one of 1,000 characters counts as four', () => {
    const found = plan(
      many('a/one', 2000, (index) => `${String(index).padEnd(1000, 'x')} web:80`),
      small,
    );
    expect(found.exact.size).toBe(501);
  });

  it('is a fair share where all namespaces want more than 20,000 routes', () => {
    const found = plan(...Array.from({ length: 15 }, (_, index) => many(`n${index}/one`, 2000)), small);
    expect(found.exact.size).toBe(15 * 1333 + 1);
    expect(beyond(found, 'TooManyRoutes')[0]).toMatch(/the namespace has more than 1333 routes$/);
    expect([...found.exact.keys()].at(-1)).toBe('z.example/');
  });

  it('is 500 backends, and 2,000 in all; a route without one answers 503', () => {
    const services = (key: string) => many(key, 600, (index) => `${index} s${index}:80`);
    const serviceOf = (namespace: string, name: string) => service(`${namespace}/${name}`, [{ port: 80 }]);
    const of = (...ingresses: readonly Ingress[]) =>
      planIngresses({
        ingresses,
        owners: new Map(),
        classes: [OURS],
        serviceOf,
        secretOf: () => ({ kind: 'missing' }),
      });
    const one = of(services('a/one'), small);
    expect([one.backends.size, one.exact.size]).toEqual([501, 601]);
    expect(beyond(one, 'TooManyBackends')).toHaveLength(20);
    expect(beyond(one, 'TooManyBackends')[0]).toBe(
      'a/one: TooManyBackends: spec.rules[0].http.paths[500].backend: the namespace leads to more than 500 ports of Services',
    );
    const all = of(...['a', 'b', 'c', 'd', 'e'].map((name) => services(`${name}/one`)), small);
    expect(all.backends.size).toBe(5 * 399 + 1);
  });

  it('is 20 refusals of a reason for each Ingress', () => {
    const found = plan(many('a/one', 100, (index) => `${index} none:80`));
    expect(beyond(found, 'ServiceNotFound')).toHaveLength(20);
  });
});

it('plans each Ingress once: thousands of one tenant cost their number', () => {
  let looked = 0;
  const ingresses = Array.from({ length: 2000 }, (_, index) =>
    ingress(`a/i${index}`, { rules: [rule('a.example', `Prefix /${index} web:80`)] }),
  );
  const web = service('a/web', [{ port: 80 }]);
  const serviceOf = () => {
    looked += 1;
    return web;
  };
  planIngresses({ ingresses, owners: new Map(), classes: [OURS], serviceOf, secretOf: () => ({ kind: 'missing' }) });
  expect(looked).toBe(2000);
});
