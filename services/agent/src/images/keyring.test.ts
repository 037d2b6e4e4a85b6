import type { Secret } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { repositoryOf } from './image-name.ts';
import { credentialsFor } from './keyring.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const secret = (name: string, type: string, field: string, content: unknown): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { namespace: 'default', name, uid: `uid-${name}` },
  type: `kubernetes.io/${type}`,
  data: { [field]: base64(typeof content === 'string' ? content : JSON.stringify(content)) },
});
const json = (auths: object, name = 'keys') => secret(name, 'dockerconfigjson', '.dockerconfigjson', { auths });
const login = (username: string) => ({ username, password: `password-of-${username}` });
const users = (image: string, ...locations: string[]) =>
  credentialsFor(image, [json(Object.fromEntries(locations.map((location) => [location, login(location)])))]).map(
    ({ username }) => username,
  );

describe('the repository of an image', () => {
  it.each([
    ['nginx', 'docker.io/library/nginx'],
    ['nginx:1.27', 'docker.io/library/nginx'],
    ['team/app', 'docker.io/team/app'],
    ['docker.io/nginx', 'docker.io/library/nginx'],
    ['index.docker.io/team/app', 'docker.io/team/app'],
    ['localhost/app', 'localhost/app'],
    ['127.0.0.1:5000/team/app:v1', '127.0.0.1:5000/team/app'],
    [`quay.io/app@sha256:${'a'.repeat(64)}`, 'quay.io/app'],
    [`quay.io/app:v1@sha256:${'a'.repeat(64)}`, 'quay.io/app'],
  ])('of %s is %s', (image, repository) => {
    expect(repositoryOf(image)).toBe(repository);
  });
});

describe('the credentials for an image', () => {
  it.each<[image: string, locations: string[], tried: string[]]>([
    ['quay.io/app', ['quay.io'], ['quay.io']],
    ['quay.io/app', ['https://quay.io'], ['https://quay.io']],
    ['quay.io/app', ['http://quay.io/v1/'], ['http://quay.io/v1/']],
    ['quay.io/team/app', ['https://quay.io/v2/team'], ['https://quay.io/v2/team']],
    ['quay.io/team/app', ['quay.io/other'], []],
    ['quay.io/teammate/app', ['quay.io/team'], ['quay.io/team']],
    ['quay.io/team/app', ['quay.io', 'quay.io/team', 'other.io'], ['quay.io/team', 'quay.io']],
    ['quay.io:8443/app', ['quay.io'], []],
    ['quay.io/app', ['quay.io:443'], []],
    ['127.0.0.1:5000/app', ['127.0.0.1:5000'], ['127.0.0.1:5000']],
    ['eu.gcr.io/app', ['*.gcr.io'], ['*.gcr.io']],
    ['gcr.io/app', ['*.gcr.io'], []],
    ['a.b.gcr.io/app', ['*.gcr.io'], []],
    ['a.b.gcr.io/app', ['*.*.gcr.io'], ['*.*.gcr.io']],
    ['prefix-1.gcr.io/app', ['prefix*.gcr.io', 'p*x.gcr.io', '??????-1.gcr.io'], ['prefix*.gcr.io', '??????-1.gcr.io']],
    ['nginx', ['https://index.docker.io/v1/'], ['https://index.docker.io/v1/']],
    ['team/app', ['index.docker.io'], ['index.docker.io']],
    ['team/app', ['docker.io', 'index.docker.io'], ['docker.io']],
    ['quay.io/app', ['index.docker.io'], []],
  ])('%s with those of %j are those of %j', (image, locations, tried) => {
    expect(users(image, ...locations)).toEqual(tried);
  });

  it('are read from both formats, with a login in one field or in two', () => {
    const one = secret('old', 'dockercfg', '.dockercfg', { 'quay.io': { auth: base64('a:b:c'), username: 'ignored' } });
    const [first, second] = credentialsFor('quay.io/app', [one, json({ 'quay.io': login('new') }), json({}, 'empty')]);
    expect(first).toMatchObject({ username: 'a', password: 'b:c', secret: { uid: 'uid-old', name: 'old' } });
    expect(second).toMatchObject({ username: 'new', password: 'password-of-new', secret: { uid: 'uid-keys' } });
    expect(second?.hash).not.toBe(first?.hash);
  });

  it('are none of Secrets of other types', () => {
    const opaque: Secret = { ...json({ 'quay.io': login('a') }), type: 'Opaque' };
    expect(credentialsFor('quay.io/app', [opaque])).toEqual([]);
  });

  it.each([
    secret('s', 'dockerconfigjson', '.dockerconfigjson', '{"auths": sesame'),
    secret('s', 'dockerconfigjson', '.dockerconfigjson', '[]'),
    secret('s', 'dockerconfigjson', '.dockerconfigjson', { auths: ['sesame'] }),
    secret('s', 'dockerconfigjson', '.dockerconfigjson', { auths: { 'quay.io': 'sesame' } }),
    secret('s', 'dockerconfigjson', '.dockerconfigjson', { auths: { 'quay.io': { auth: base64('sesame') } } }),
    secret('s', 'dockercfg', '.dockercfg', { 'quay.io': { username: 5 } }),
  ])('are refused without a word of what the Secret contains', (broken) => {
    expect(() => credentialsFor('quay.io/app', [broken])).toThrow(
      /^Secret default\/s: \.docker\w+ does not contain registry credentials in JSON$/,
    );
  });

  it('are found in a time that does not grow with what wildcards could match', () => {
    const glob = `${'*a'.repeat(2000)}b.io`;
    expect(users(`${'a'.repeat(4000)}.io/app`, glob)).toEqual([]);
  });
});
