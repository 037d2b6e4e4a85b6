import { describe, expect, it } from 'vitest';
import { isImageReference } from './image-reference.ts';

describe('image references', () => {
  it.each(['nginx', 'nginx:1.27', 'localhost:5000/a/b_c:x', 'registry.k8s.io/pause@sha256:' + 'a'.repeat(64)])(
    '%s is valid',
    (image) => {
      expect(isImageReference(image)).toBe(true);
    },
  );
  it.each(['', 'NGINX', 'a b', 'nginx:', 'nginx:a/b', '-x'])('%j is invalid', (image) => {
    expect(isImageReference(image)).toBe(false);
  });
});
