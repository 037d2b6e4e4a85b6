import { describe, expect, it } from 'vitest';
import { imageReferenceFault } from './image-reference.ts';

describe('image references', () => {
  it.each(['nginx', 'nginx:1.27', 'localhost:5000/a/b_c:x', 'registry.k8s.io/pause@sha256:' + 'a'.repeat(64)])(
    '%s is valid',
    (image) => {
      expect(imageReferenceFault(image)).toBeUndefined();
    },
  );
  it.each(['', 'NGINX', 'a b', 'nginx:', 'nginx:a/b', '-x'])('%j is invalid', (image) => {
    expect(imageReferenceFault(image)).toBe('invalid reference format');
  });
  it('the id of an image is none', () => {
    const id = '0a'.repeat(32);
    expect(imageReferenceFault(id)).toBe(`invalid repository name (${id}), cannot specify 64-byte hexadecimal strings`);
  });
});
