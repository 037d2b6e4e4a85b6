import { describe, expect, it } from 'vitest';
import { imageReferenceFault, repositoryOf } from './image-name.ts';

const HEX = '0123456789abcdef0123456789abcdef';

/** Image names and what `github.com/distribution/reference` 0.6.0, which the kubelet uses, says of them. */
const VERDICTS: readonly (readonly [image: string, verdict: string])[] = [
  ['nginx', ''],
  ['Nginx', 'invalid reference format: repository name (library/Nginx) must be lowercase'],
  ['NGINX:1', 'invalid reference format: repository name (library/NGINX) must be lowercase'],
  ['nginx:Latest', ''],
  ['nginx:LATEST', ''],
  ['docker.io/Nginx', 'invalid reference format: repository name (library/Nginx) must be lowercase'],
  ['quay.io/Team/x', 'invalid reference format: repository name (Team/x) must be lowercase'],
  ['Registry.io/x', ''],
  ['localhost/X', 'invalid reference format: repository name (X) must be lowercase'],
  ['localhost:5000/x', ''],
  [`nginx@sha256:${HEX}${HEX}`, ''],
  [`nginx@SHA256:${HEX}${HEX}`, 'invalid reference format: repository name (library/nginx@SHA256) must be lowercase'],
  [`nginx@sha256:0123456789ABCDEF${HEX}0123456789abcdef`, 'invalid checksum digest format'],
  [`nginx@sha256:${HEX}`, 'invalid checksum digest length'],
  [`nginx@md5:${HEX}`, 'unsupported digest algorithm'],
  [`nginx@foo:${HEX}`, 'unsupported digest algorithm'],
  ['', 'invalid reference format'],
  [' ', 'invalid reference format'],
  [' nginx', 'invalid reference format'],
  ['a b', 'invalid reference format'],
  ['nginx:', 'invalid reference format'],
  ['nginx@', 'invalid reference format'],
  [':1', 'invalid reference format'],
  ['[::1]:5000/x', ''],
  ['[::1]/x', ''],
  ['http://x/y', 'invalid reference format'],
  ['x..y', 'invalid reference format'],
  ['a/b//c', 'invalid reference format'],
  ['/a', 'invalid reference format'],
  ['a/', 'invalid reference format'],
  ['a__b', ''],
  ['a___b', 'invalid reference format'],
  ['a.-b', 'invalid reference format'],
  ['-a', 'invalid reference format'],
  ['a-', 'invalid reference format'],
  [`${HEX}${HEX}`, `invalid repository name (${HEX}${HEX}), cannot specify 64-byte hexadecimal strings`],
  [`${HEX}${HEX}:1`, ''],
  ['x:1:2', 'invalid reference format'],
  ['host:5000/x:1', ''],
  ['Host:5000/X', 'invalid reference format: repository name (X) must be lowercase'],
  ['a_b/c', ''],
  ['x.y/Z:1', 'invalid reference format: repository name (Z) must be lowercase'],
  [`${'a'.repeat(256)}`, 'repository name must not be more than 255 characters'],
  [`a/${'b'.repeat(245)}`, ''],
  [`nginx:${'a'.repeat(129)}`, 'invalid reference format'],
  ['éa', 'invalid reference format'],
  ['nginx:é', 'invalid reference format'],
  ['index.docker.io/x', ''],
  ['docker.io/x/y', ''],
  ['foo/Bar', 'invalid reference format: repository name (foo/Bar) must be lowercase'],
];

describe('image references', () => {
  it.each(VERDICTS)('%j: %j', (image, verdict) => {
    expect(imageReferenceFault(image) ?? '').toBe(verdict);
  });

  it.each(['Foo/bar', 'Foo/Bar', 'REGISTRY/x', 'A_B/c'])(
    'with capitals before the first slash are none of Docker Engine: %s',
    (image) => {
      expect(imageReferenceFault(image)).toBe(`invalid reference format: repository name (${image}) must be lowercase`);
    },
  );

  it('are at most 1,024 characters long, however they repeat', () => {
    expect(imageReferenceFault(`${'a-'.repeat(500_000)}!`)).toBe('invalid reference format');
  });
});

it.each([
  ['nginx:1.27', 'docker.io/library/nginx'],
  ['index.docker.io/nginx', 'docker.io/library/nginx'],
  ['team/app@sha256:0', 'docker.io/team/app'],
  ['localhost/app', 'localhost/app'],
  ['localhost:5000/app:1', 'localhost:5000/app'],
])('the repository of %s is %s', (image, repository) => {
  expect(repositoryOf(image)).toBe(repository);
});
